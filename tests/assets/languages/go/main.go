package main

import (
	"fmt"

	"example.com/shop/store"
)

// Max is the limit.
const Max = 3

type app struct {
	store *store.Store
	logger
}

type logger struct{}

func (l *logger) log(text string) { fmt.Println(text) }

func main() {
	s := store.New(Max)
	a := &app{store: s}
	a.run()
	a.log("done")
}
