# DIR: deletes a scratch folder, and nothing that is not one.
case $1 in */ascendctl/scratch/????????) ;; *) echo "$1 is not a scratch folder" >&2; exit 1 ;; esac
rm -rf -- "$1"
