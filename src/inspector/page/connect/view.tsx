// Client configuration: select a client, copy the entry, add it to the client's file.

import { useState } from 'preact/hooks';
import { clientNamed, clients } from '../../../../config/clients/client-list.ts';
import { fetchConnectFacts } from '../feed/api.ts';
import { usePolled } from '../feed/hooks.ts';
import { HOME } from '../home.ts';
import { CopyText } from './copy-text.tsx';
import {
  ALL_SERVERS,
  connectEntries,
  isOwnMachine,
  type ServerSelection,
  type System,
  systemOf,
  systems,
} from './entries.ts';

const REFRESH_MS = 10_000;
/** Maximum number of servers to select from. */
const MAX_SERVERS = 500;

export function ConnectView() {
  const { value, problem } = usePolled('connect', fetchConnectFacts, REFRESH_MS);
  const [id, setId] = useState<string>(clients[0]?.id ?? '');
  const [system, setSystem] = useState<System>(() => systemOf(navigator.userAgent));
  const [selection, setSelection] = useState('');
  const [selectedTransport, setTransport] = useState<string>();
  const client = clientNamed(id);
  const isLocal = isOwnMachine(location.hostname);
  const entries =
    value !== undefined && client !== undefined
      ? connectEntries({
          client,
          system,
          address: location.origin + HOME.replace(/\/inspector$/, ''),
          selection: selectionOf(selection),
          needsKey: value.needs_key,
          program: isLocal ? value.program : { command: 'actor-gateway', args: ['stdio'] },
        })
      : undefined;
  const transport =
    selectedTransport ?? (entries !== undefined && 'reason' in entries.http ? 'stdio' : 'http');
  const choose = (clientId: string): void => {
    setId(clientId);
    setTransport(undefined);
  };
  return (
    <main id="content" tabIndex={-1} class="sections">
      <section class="pane" aria-label="Connect">
        <div class="bar">
          <h1>Connect a client</h1>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable */}
        <div class="scroll connect" tabIndex={0}>
          <div class="connect-choices">
            <Choice id="connect-client" label="Client" value={id} onChange={choose}>
              {clients.map((each) => [each.id, each.label])}
            </Choice>
            <Choice id="connect-way" label="Transport" value={transport} onChange={setTransport}>
              {[
                ['http', 'HTTP'],
                ['stdio', 'stdio (the client starts a program)'],
              ]}
            </Choice>
            <Choice id="connect-server" label="Servers" value={selection} onChange={setSelection}>
              {[
                ['', 'all servers'],
                ...(value?.profiles ?? []).map((each) => [`profile ${each}`, `profile ${each}`]),
                ...(value?.servers ?? []).slice(0, MAX_SERVERS).map((each) => [`server ${each}`, each]),
              ]}
            </Choice>
            <Choice
              id="connect-system"
              label="Operating system"
              value={system}
              onChange={(name) => setSystem(name as System)}
            >
              {systems.map((each) => [each, each])}
            </Choice>
          </div>
          {entries === undefined && <p class="empty">{problem ?? 'Loading …'}</p>}
          {entries !== undefined && client !== undefined && (
            <>
              {transport === 'stdio' ? (
                <CopyText label={`Entry for ${client.label}, stdio`} text={entries.stdio} />
              ) : 'text' in entries.http ? (
                <CopyText label={`Entry for ${client.label}, HTTP`} text={entries.http.text} />
              ) : (
                <p class="empty">{entries.http.reason}</p>
              )}
              {transport === 'http' && entries.command !== undefined && (
                <p>
                  Or let {client.label} add it: <code>{entries.command}</code>
                </p>
              )}
              {transport === 'stdio' && !isLocal && (
                <p class="aside">Requires the package actor-gateway on the client's machine.</p>
              )}
              <h2>File</h2>
              <ul>
                {entries.files.map(({ scope, path }) => (
                  <li key={path}>
                    <code>{path}</code>{' '}
                    <span class="aside">
                      {scope === 'user' ? 'for all your projects' : 'for one project'}
                    </span>
                  </li>
                ))}
              </ul>
              <p>
                Add the entry to the servers in the file, or run <code>{entries.connectCommand}</code>. Then{' '}
                {client.nextStep}.
              </p>
              {entries.note !== undefined && <p>{entries.note}</p>}
            </>
          )}
        </div>
      </section>
    </main>
  );
}

/** Parses the value of the selected option. */
function selectionOf(option: string): ServerSelection {
  const [, kind, name = ''] = /^(server|profile) (.+)$/s.exec(option) ?? [];
  return kind === 'server' || kind === 'profile' ? { kind, name } : ALL_SERVERS;
}

interface ChoiceProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  /** Values and texts of the options. */
  readonly children: readonly (readonly string[])[];
  onChange(value: string): void;
}

function Choice({ id, label, value, children, onChange }: ChoiceProps) {
  return (
    <span class="choice">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {children.map(([each = '', text = '']) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}
