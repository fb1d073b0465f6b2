// Banners for nodes (gateways of a cluster) with different configurations, and for outdated data about nodes.

import { NODES } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import { Link } from '../link.tsx';
import { differingFields } from '../node-differences.ts';

export function NodesBanner({ state, go }: { readonly state: PageState; readonly go: Go }) {
  const cluster = state.totals?.cluster;
  if (cluster == null) return null;
  const fields = differingFields(cluster.nodes);
  const link = (
    <Link to={{ actor: NODES, tab: 'log' }} go={go}>
      Show
    </Link>
  );
  return (
    <>
      {fields.length > 0 && (
        <p class="banner warn" role="status" id="nodes-differ">
          <strong>{`The nodes differ in their ${fields.join(' and ')}.`}</strong> {link}
        </p>
      )}
      {cluster.stale_seconds !== undefined && (
        <p class="banner bad" role="alert" id="nodes-stale">
          <strong>The database does not respond.</strong> The list of nodes is outdated. {link}
        </p>
      )}
    </>
  );
}
