cd "${0%/*}/work" || exit
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export PATH
read -r stat </proc/$$/stat && stat=${stat##*) } # the name may hold blanks
n=0; for w in $stat; do n=$((n+1)); [ $n != 20 ] || start=$w; done
echo "$$ $start" >../pid.new && mv ../pid.new ../pid || exit
"$@" </dev/null >../log 2>&1
echo $? >../status.new && mv ../status.new ../status
