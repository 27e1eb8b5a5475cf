import { Component, type ComponentChildren } from "preact";
import { LocationProvider, Route, Router, useLocation } from "preact-iso";
import { isOpenPath } from "./data/paths.js";
import { pages } from "./pages.js";
import { Shell } from "./shell/shell.js";
import { announced } from "./ui/announce.js";
import { Button } from "./ui/button.js";
import { MissingPage } from "./ui/page.js";

/** Links that the router follows; data and assets are the browser's. */
const ownLinks = /^(?:\?|\/dashboard(?!\/(?:api|assets)\/)(?:[/?]|$))/;

export function App() {
  return (
    <LocationProvider scope={ownLinks}>
      <CrashBoundary>
        <Frame />
      </CrashBoundary>
      <LiveRegion />
    </LocationProvider>
  );
}

function Frame() {
  const { path } = useLocation();
  const page = (
    <Router>
      {Object.entries(pages).map(([pattern, component]) => (
        <Route key={pattern} path={`/dashboard${pattern}`} component={component} />
      ))}
      <Route default component={MissingPage} />
    </Router>
  );
  return isOpenPath(path) ? <main id="content">{page}</main> : <Shell path={path}>{page}</Shell>;
}

class CrashBoundary extends Component<{ children: ComponentChildren }, { hasCrashed: boolean }> {
  override state = { hasCrashed: false };

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
        <Button text="Reload" look="main" onClick={() => location.reload()} />
      </main>
    );
  }
}

function LiveRegion() {
  return (
    <div class="sr-only" role="status" aria-live="polite">
      {announced.value}
    </div>
  );
}
