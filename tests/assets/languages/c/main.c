#include <stdio.h>
#include "list.h"

static int check(int argc)
{
    return argc;
}

static void visit(int (*call)(int))
{
    call(1);
}

int main(int argc, char **argv)
{
    struct list *l = list_new();
    printf("%d", list_get(l, check(argc)));
    visit(check);
    return LIST_LAST(l);
}
