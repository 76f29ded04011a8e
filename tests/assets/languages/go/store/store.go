// Package store keeps items.
package store

// Store keeps items.
type Store struct {
	items []*Item
	sink  Sink
}

type Sink interface {
	Write(text string) error
}

// New makes a store.
func New(size int) *Store {
	return &Store{items: make([]*Item, 0, size)}
}

func (s *Store) Add(item Item) (*Item, error) {
	for _, other := range s.items {
		other.Label()
	}
	return check(&item), s.sink.Write(item.Label())
}
