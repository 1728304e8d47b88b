id || exit
printf 'home=%s\n' "$HOME"
