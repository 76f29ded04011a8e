import type { Logger } from "./log";
import { ConsoleLogger } from "./log";

export interface Item {
  name: string;
  price(): number;
}

/** Keeps items. */
export class Store<T extends Item> {
  private items: Map<string, T> = new Map();
  constructor(private readonly logger: Logger = new ConsoleLogger()) {}

  add(item: T): this {
    this.logger.log(item.name);
    return this;
  }

  get size(): number {
    return this.items.size;
  }
}

export namespace Util {
  export function twice(n: number): number {
    return n * 2;
  }
}

export enum Mode {
  Fast,
  Slow,
}
