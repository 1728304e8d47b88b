# BASE DIR SIZE NAME [GROUND]: runs in namespaces of its own (mount, pid, net,
# uts, ipc) and becomes the first process of the host. All it mounts goes when
# it ends, and it ends when the test closes its stdin, killed or not.
set -e
base=$1 dir=$2 size=$3 name=$4 ground=$5
mount --make-rprivate /
if [ -n "$ground" ]; then mount --bind "$ground" "$dir/mnt"; else mount -t tmpfs -o "mode=755,size=$size" laid "$dir/mnt"; fi
cd "$dir/mnt"
mkdir -p upper work root laid/real
mount -t overlay -o "lowerdir=$base,upperdir=upper,workdir=work" laid root 2>/dev/null || cp -a --reflink=auto "$base/." root
mkdir -p root/.laid
mount --bind laid root/.laid
mount -t proc proc root/proc
mount -t tmpfs -o mode=755 dev root/dev
node() { mknod -m 666 "root/dev/$1" c "$2" "$3"; }
node null 1 3; node zero 1 5; node full 1 7; node random 1 8; node urandom 1 9; node tty 5 0
mkdir root/dev/pts root/dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts root/dev/pts
ln -s pts/ptmx root/dev/ptmx
ln -s /proc/self/fd root/dev/fd
ln -s /proc/self/fd/0 root/dev/stdin
ln -s /proc/self/fd/1 root/dev/stdout
ln -s /proc/self/fd/2 root/dev/stderr
chmod 1777 root/dev/shm
hostname "$name"
chroot root tar --numeric-owner -xpf - ./.laid <"$dir/tree.tar"
sed "s/^btime .*/btime $(cat laid/btime)/" /proc/stat >laid/proc/stat
exec chroot root /bin/sh /.laid/init 3<"$dir/tree.tar"
