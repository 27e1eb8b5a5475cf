import { Page } from "../ui/page.js";
import { KeyPanel, useKeyDialog } from "./key-list.js";

export function KeysPage() {
  const { button, dialog } = useKeyDialog();
  return (
    <Page
      title="API keys"
      note="A key opens one API for everything of this account; a shared key reads one site."
      actions={button}
    >
      <KeyPanel />
      {dialog}
    </Page>
  );
}
