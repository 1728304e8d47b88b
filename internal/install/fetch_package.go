package install

import "context"

// ItemOf is what there is to bring of a package.
func ItemOf(p Package) Item {
	it := Item{ID: p.ID, Name: p.File, URL: p.URL, Page: p.Page, Referer: p.Referer, Size: p.Size, SHA256: p.SHA256, Other: p.Names}
	for _, part := range p.Parts {
		it.Parts = append(it.Parts, part.Pattern)
	}
	return it
}

// File is a Got as the steps of a plan want it.
func (g *Got) File() File {
	return File{Name: g.Name, Src: g, Size: g.Size, SHA256: g.SHA256, From: g.From, Verified: g.Verified}
}

// Files brings the installers of packages and gives the function that Want.Files
// asks for.
func (f *Fetcher) Files(ctx context.Context, packages []Package) (func(Package, Part) (File, bool), error) {
	var items []Item
	for _, p := range packages {
		items = append(items, ItemOf(p))
	}
	all, err := f.Get(ctx, items)
	if err != nil {
		return nil, err
	}
	of := map[string][]*Got{}
	for _, g := range all {
		of[g.Item] = append(of[g.Item], g)
	}
	got := map[[2]string]File{}
	for _, p := range packages {
		for i, part := range p.Parts {
			if i < len(of[p.ID]) {
				got[[2]string{p.ID, part.Name}] = of[p.ID][i].File()
			}
		}
	}
	return func(p Package, part Part) (File, bool) {
		file, ok := got[[2]string{p.ID, part.Name}]
		return file, ok
	}, nil
}
