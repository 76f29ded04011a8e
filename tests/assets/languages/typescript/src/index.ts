export * from "./store";
export { ConsoleLogger as Log } from "./log";
