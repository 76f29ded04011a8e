import { useState } from "react";
import { Button } from "./Button";

type Props = { title: string };

export function App({ title }: Props) {
  const [n, setN] = useState(0);
  const onClick = () => setN(n + 1);
  return (
    <div>
      <Header title={title} />
      <Button.Primary onClick={onClick}>
        {label(n)}
      </Button.Primary>
    </div>
  );
}

const Header = (props: Props) => <h1>{props.title}</h1>;

function label(n: number): string {
  return String(n);
}
