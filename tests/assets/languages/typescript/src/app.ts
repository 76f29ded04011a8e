import { Log, Store, Util } from "./index";
import { Item } from "./store";

class Tea implements Item {
  name = "tea";
  price = () => Util.twice(2);
}

export async function boot(): Promise<Store<Tea>> {
  const store = new Store<Tea>(new Log());
  store.add(new Tea()).add(new Tea());
  return store;
}

boot().then((s) => s.size);
export const run = async () => (await boot()).add(new Tea());
