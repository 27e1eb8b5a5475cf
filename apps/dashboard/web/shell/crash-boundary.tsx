import { Component, type ComponentChildren } from "preact";
import { Button } from "../ui/button.js";

interface CrashState {
  hasCrashed: boolean;
}

/** Shows a page instead of nothing when a component throws. */
export class CrashBoundary extends Component<{ children: ComponentChildren }, CrashState> {
  override state: CrashState = { hasCrashed: false };

  override componentDidCatch(error: unknown): void {
    reportError(error);
    this.setState({ hasCrashed: true });
  }

  override render() {
    if (!this.state.hasCrashed) return this.props.children;
    return (
      <main class="page">
        <h1>Something broke on this page</h1>
        <p>Your data is unharmed. A reload shows the page anew.</p>
        <Button look="main" onClick={() => location.reload()}>
          Reload
        </Button>
      </main>
    );
  }
}
