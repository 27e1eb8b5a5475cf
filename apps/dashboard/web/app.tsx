import { LocationProvider, Route, Router, useLocation } from "preact-iso";
import { isOpenPath } from "./data/paths.js";
import { pages } from "./pages.js";
import { CrashBoundary } from "./shell/crash-boundary.js";
import { LiveRegion } from "./shell/live-region.js";
import { MissingPage } from "./shell/missing-page.js";
import { Shell } from "./shell/shell.js";

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
