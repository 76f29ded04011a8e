export interface Logger {
  log(text: string): void;
}

abstract class BaseLogger implements Logger {
  abstract write(text: string): void;
  log(text: string): void {
    this.write(text);
  }
}

export class ConsoleLogger extends BaseLogger {
  write(text: string): void {
    console.log(text);
  }
}
