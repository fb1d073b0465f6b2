// Last stderr lines of a server, polled while the tab is open.

import type { ServerDetails } from '../../../http/api/server-shapes.ts';
import type { PollResult } from '../feed/hooks.ts';

export function StderrTab({ details }: { readonly details: PollResult<ServerDetails> }) {
  if (details.problem !== undefined) return <p class="empty">{details.problem}</p>;
  if (details.value === undefined) return <p class="empty">Loading …</p>;
  const { stderr, last_error, started_at } = details.value;
  return (
    <div class="scroll stderr">
      {last_error !== null && (
        <p class="error">
          <strong>{last_error.code}</strong> {last_error.message}
        </p>
      )}
      {stderr.length === 0 ? (
        <p class="empty">
          No stderr output since the gateway started{started_at === null && '; the server is not running'}.
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
        <pre tabIndex={0}>{stderr.join('\n')}</pre>
      )}
    </div>
  );
}
