package store

type Item struct {
	Name string
}

func (i Item) Label() string { return i.Name }

func check(item *Item) *Item {
	item.Label()
	return item
}
