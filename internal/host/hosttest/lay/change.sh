# What would change the host is only noted; what asks it goes on.
for v; do case $v in -*) ;; *) break ;; esac; done
case ${0##*/} in
reboot) v=reboot ;;
shutdown) case $a in *-r*) v=reboot ;; esac ;;
esac
case $v in
reboot) echo reboot >/.laid/reboot; exit 0 ;;
list-* | show | is-* | status | cat) ;;
*) exit 0 ;;
esac
