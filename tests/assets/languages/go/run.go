package main

import "example.com/shop/store"

func (a *app) run() {
	a.store.Add(store.Item{Name: "tea"})
	each(func(i store.Item) { i.Label() })
	helper()
}

func each(f func(store.Item)) {}

func helper() {}
