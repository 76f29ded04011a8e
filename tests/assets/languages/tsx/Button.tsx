export class Button {
  static Primary(props: object) {
    return <button />;
  }
}
