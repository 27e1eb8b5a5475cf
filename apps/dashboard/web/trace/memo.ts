import { Component, type ComponentType, createElement } from "preact";

/** A component that renders again only when one of its props is another. */
export function memo<Props extends object>(inner: ComponentType<Props>): ComponentType<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const props: Readonly<Props> = this.props;
      return (Object.keys(next) as (keyof Props)[]).some((name) => next[name] !== props[name]);
    }
    override render() {
      return createElement(inner, this.props as Props);
    }
  };
}
