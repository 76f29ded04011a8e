#ifndef LIST_H
#define LIST_H

#define LIST_MAX 16
#define LIST_LAST(l) list_get(l, 1)

struct list {
    int size;
    struct node *head;
};

typedef struct {
    int value;
} node_t;

enum order { UP, DOWN };

/* Makes a list. */
struct list *list_new(void);
int list_get(struct list *l, int at);

#endif
