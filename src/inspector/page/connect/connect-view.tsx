// How a client connects to this gateway: choose it, copy the entry, and put it into its file.

import { useState } from 'preact/hooks';
import { clientNamed, clients } from '../../../../config/clients/client-list.ts';
import { connectFacts } from '../feed/api.ts';
import { useAsked } from '../feed/hooks.ts';
import {
  connectEntries,
  everything,
  isOwnMachine,
  type Reach,
  type System,
  systemOf,
  systems,
} from './connect-entries.ts';
import { CopyText } from './copy-text.tsx';

const REFRESH_MS = 10_000;
const MAX_SERVERS = 500;

export function ConnectView() {
  const { value, problem } = useAsked('connect', connectFacts, REFRESH_MS);
  const [id, setId] = useState<string>(clients[0]?.id ?? '');
  const [system, setSystem] = useState<System>(() => systemOf(navigator.userAgent));
  const [reach, setReach] = useState('');
  const [way, setWay] = useState<string>();
  const client = clientNamed(id);
  const isHere = isOwnMachine(location.hostname);
  const entries =
    value !== undefined && client !== undefined
      ? connectEntries({
          client,
          system,
          origin: location.origin,
          reach: reachOf(reach),
          needsKey: value.needs_key,
          program: isHere ? value.program : { command: 'actor-gateway', args: ['stdio'] },
        })
      : undefined;
  const how = way ?? (entries !== undefined && 'why' in entries.http ? 'stdio' : 'http');
  const choose = (given: string): void => {
    setId(given);
    setWay(undefined);
  };
  return (
    <main id="content" tabIndex={-1} class="sections">
      <section class="pane" aria-label="Connect">
        <div class="bar">
          <h1>Connect a client</h1>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
        <div class="scroll connect" tabIndex={0}>
          <div class="connect-choices">
            <Choice id="connect-client" label="Client" value={id} onChange={choose}>
              {clients.map((each) => [each.id, each.label])}
            </Choice>
            <Choice id="connect-way" label="How" value={how} onChange={setWay}>
              {[
                ['http', 'by its address (HTTP)'],
                ['stdio', 'by a program that it starts (stdio)'],
              ]}
            </Choice>
            <Choice id="connect-server" label="What it reaches" value={reach} onChange={setReach}>
              {[
                ['', 'all servers'],
                ...(value?.profiles ?? []).map((each) => [`profile ${each}`, `profile ${each}`]),
                ...(value?.servers ?? []).slice(0, MAX_SERVERS).map((each) => [`server ${each}`, each]),
              ]}
            </Choice>
            <Choice
              id="connect-system"
              label="Its system"
              value={system}
              onChange={(given) => setSystem(given as System)}
            >
              {systems.map((each) => [each, each])}
            </Choice>
          </div>
          {entries === undefined && <p class="empty">{problem ?? 'Asking …'}</p>}
          {entries !== undefined && client !== undefined && (
            <>
              {how === 'stdio' ? (
                <CopyText label={`Entry of ${client.label} that starts a program`} text={entries.stdio} />
              ) : 'text' in entries.http ? (
                <CopyText label={`Entry of ${client.label} with an address`} text={entries.http.text} />
              ) : (
                <p class="empty">{entries.http.why}</p>
              )}
              {how === 'http' && entries.command !== undefined && (
                <p>
                  Or let {client.label} put it in: <code>{entries.command}</code>
                </p>
              )}
              {how === 'stdio' && !isHere && (
                <p class="aside">
                  For the machine that the client runs on: the package actor-gateway has to be installed
                  there.
                </p>
              )}
              <h2>Where it belongs</h2>
              <ul>
                {entries.files.map(({ scope, path }) => (
                  <li key={path}>
                    <code>{path}</code>{' '}
                    <span class="aside">{scope === 'user' ? 'for you everywhere' : 'for one project'}</span>
                  </li>
                ))}
              </ul>
              <p>
                Where the file has servers already, put this one among them; this does it by itself:{' '}
                <code>{entries.writes}</code>. Then {client.nextStep}.
              </p>
              {entries.note !== undefined && <p>{entries.note}</p>}
            </>
          )}
        </div>
      </section>
    </main>
  );
}

/** What an option of the list names. */
function reachOf(option: string): Reach {
  const [, kind, name = ''] = /^(server|profile) (.+)$/s.exec(option) ?? [];
  return kind === 'server' || kind === 'profile' ? { kind, name } : everything;
}

interface ChoiceProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  /** Value and words of each. */
  readonly children: readonly (readonly string[])[];
  onChange(value: string): void;
}

function Choice({ id, label, value, children, onChange }: ChoiceProps) {
  return (
    <span class="choice">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {children.map(([each = '', words = '']) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </span>
  );
}
