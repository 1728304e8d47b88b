package cann

// WantHome is what to ask about a tree that the environment names, of which
// nothing was listed. arch is as uname -m gives it.
func WantHome(home, arch string) Want {
	w := Want{
		Globs: []string{home + kernels + "/*", home + kernels + "/config/*"},
		Links: []string{home},
		Modes: HomeFiles(home),
		Texts: []string{home + "/version.cfg"},
	}
	for _, kind := range []string{"toolkit", "ops", "nnrt", "nnae"} {
		w.Texts = append(w.Texts, home+"/"+arch+"-linux/ascend_"+kind+"_install.info")
	}
	for _, part := range components {
		w.Texts = append(w.Texts, home+"/"+part+"/version.info", home+"/share/info/"+part+"/version.info")
	}
	return w
}

// HomeFiles are the files of a tree that others need.
func HomeFiles(home string) []string { return []string{home + "/set_env.sh", home + "/bin/atc"} }
