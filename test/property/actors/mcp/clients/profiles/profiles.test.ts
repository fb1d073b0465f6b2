// Profiles (parts of the servers and their tools, at /mcp/@NAME) of any catalog. After random changes of
// profile and catalog, a client of the profile can reach exactly the listed tools, prompts and resources.
// Messages of servers outside the profile never reach its clients (invariant PFL2 in
// actors/mcp/clients/profiles/profile.ts).

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { silentLog } from '../../../../../../actors/base/errors/log.ts';
import { Aggregate, type ServerSource } from '../../../../../../actors/mcp/clients/aggregate/aggregate.ts';
import { MergedNames } from '../../../../../../actors/mcp/clients/aggregate/tool-names.ts';
import { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import type { Profile } from '../../../../../../actors/mcp/clients/profiles/profile.ts';
import { Profiles } from '../../../../../../actors/mcp/clients/profiles/profiles.ts';
import type { RoutedRequest } from '../../../../../../actors/mcp/clients/routed-request.ts';
import {
  type AggregateContext,
  routeToAny,
} from '../../../../../../actors/mcp/clients/routing/aggregate-router.ts';
import { KnownClients } from '../../../../../../actors/mcp/clients/routing/known-clients.ts';
import { ListenStream } from '../../../../../../actors/mcp/clients/sessions/listen-stream.ts';
import { Sessions } from '../../../../../../actors/mcp/clients/sessions/sessions.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage, readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { toBuffer } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import { latestSessionVersion } from '../../../../../../actors/mcp/servers/cache/introduction.ts';
import type { ManagedServer } from '../../../../../../actors/mcp/servers/managed-server.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';
import type { Catalog } from '../../../../../../config/catalog/catalog-schema.ts';
import type { ProfileEntry } from '../../../../../../config/gateway-file/profile-schema.ts';
import { ListedServer } from '../../../../../fixtures/server/listed-server.ts';

// Some ids are prefixes of others, and one name exceeds the length limit of merged names.
const id = fc.constantFrom('a', 'a_', 'a__b', 'be.ta', 'read');
const tag = fc.constantFrom('t', 'u');
const name = fc.constantFrom('b', 'b__c', 'read', 'read_file', 'write', 'x'.repeat(70), '_x');
const uri = fc.constantFrom('x://1', 'x://2', 'y://1');
const few = <T>(items: fc.Arbitrary<T>) => fc.uniqueArray(items, { maxLength: 4 });

interface ServerSetting {
  readonly id: string;
  readonly tags: readonly string[];
  readonly isIsolated: boolean;
  readonly isDisabled: boolean;
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
}

const anyServer = fc.record({
  id,
  tags: few(tag),
  isIsolated: fc.boolean(),
  isDisabled: fc.boolean(),
  tools: few(name),
  prompts: few(name),
  resources: few(uri),
});
const anyCatalog: fc.Arbitrary<ServerSetting[]> = fc.uniqueArray(anyServer, {
  selector: (server) => server.id,
  maxLength: 5,
});
/** Profile tool patterns. */
const pattern = fc.constantFrom('*', 'read*', '*__read*', 'a__*', 'b', '*__b', 'be.ta__*', 'be_ta__*', 'zz');
const anyEntry: fc.Arbitrary<ProfileEntry> = fc.record(
  { servers: few(id), tags: few(tag), tools: few(pattern) },
  { requiredKeys: [] },
);

const eras = { knownEras: { legacy: true, modern: true }, serverEraFor: (era: string) => era };

/** Servers, their aggregate at /mcp, and a profile. All of them can change. */
class ProfiledCatalog {
  servers: readonly ListedServer[] = [];
  settings: readonly ServerSetting[] = [];
  revision = 0;
  readonly aggregate: Aggregate;
  readonly profiles: Profiles;
  entry: ProfileEntry = {};

  constructor(settings: readonly ServerSetting[], entry: ProfileEntry) {
    const all = () => this.#managed;
    const revision = () => this.revision;
    const servers: ServerSource = {
      all,
      get revision() {
        return revision();
      },
    };
    this.aggregate = new Aggregate(servers);
    this.profiles = new Profiles({ servers, tagsOf: () => [] });
    this.change(settings, entry);
  }

  #managed: readonly ManagedServer[] = [];

  change(settings: readonly ServerSetting[], entry: ProfileEntry): void {
    this.settings = settings;
    this.entry = entry;
    this.servers = settings.map((setting) => {
      const listed = new ListedServer(setting.id, setting);
      listed.entry.enabled = !setting.isDisabled;
      const isolation = setting.isIsolated ? 'session' : 'shared';
      return Object.assign(listed, {
        eras,
        handle: { isParked: false },
        entry: { ...listed.entry, isolation },
        mayShowMoreTo: () => false,
      });
    });
    this.#managed = this.servers.map(({ asManaged }) => asManaged);
    this.revision += 1;
    const entries = Object.fromEntries(
      settings.map((setting) => [setting.id, { tags: setting.tags, enabled: !setting.isDisabled }]),
    );
    this.profiles.apply({ it: entry }, { servers: entries } as unknown as Catalog);
  }

  get profile(): Profile {
    return this.profiles.get('it');
  }

  /** Model of the rule for servers: a profile includes servers by id or tag. */
  isInside(server: ServerSetting): boolean {
    const { servers, tags } = this.entry;
    if (servers === undefined && tags === undefined) return true;
    return servers?.includes(server.id) === true || server.tags.some((each) => tags?.includes(each) === true);
  }

  /** Model of the rule for tools: a pattern of the profile matches. */
  isShown(serverId: string, tool: string): boolean {
    const { tools } = this.entry;
    const enabledIds = this.settings.filter(({ isDisabled }) => !isDisabled).map((server) => server.id);
    return tools === undefined || tools.some((each) => matchesTool(each, serverId, tool, enabledIds));
  }
}

/** A pattern with `__` is for names with the server id, any other pattern for the tool's own name. */
function matchesTool(
  toolPattern: string,
  serverId: string,
  tool: string,
  serverIds: readonly string[],
): boolean {
  const parts = toolPattern.split('*').map((part) => part.replace('.', '\\.'));
  const regExp = new RegExp(`^${parts.join('.*')}$`, 's');
  if (!toolPattern.includes('__')) return regExp.test(tool);
  const longestFirst = [...serverIds].sort((one, other) => other.length - one.length);
  const owner = longestFirst.find((one) => toolPattern.startsWith(`${one}__`));
  if (owner !== undefined && owner !== serverId) return false;
  const mergedName = new MergedNames(serverIds).namesOf(serverId, [tool]).get(tool) ?? '';
  return regExp.test(`${serverId}__${tool}`) || regExp.test(mergedName);
}

/** Routes a client message in the profile. Returns the target with the edited message, or the error. */
function routeMessage(profile: Profile, message: object, isModern: boolean) {
  const envelope = readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })));
  const sent: RoutedRequest[] = [];
  const responses: string[] = [];
  const outlet = { send() {}, finish: (text: Buffer) => responses.push(text.toString()), drop() {} };
  const exchange = new ClientExchange('1', outlet, { redact: (text) => text, onEnd: () => {} });
  const caller = isModern ? { capabilities: {}, clientInfo: {}, logLevel: undefined } : undefined;
  const context = {
    aggregate: profile.aggregate,
    views: { find: () => profile.aggregate },
    known: new KnownClients(),
    search: undefined,
    profile,
    discovery: { waitForLists: () => undefined },
    eraBridge: { listingClientOf: () => undefined, suspendedCalls: { has: () => false } },
    forwarder: { forward: (route: RoutedRequest) => sent.push(route), inFlight: { release: () => {} } },
    listTimeoutMs: 1,
  } as unknown as AggregateContext;
  routeToAny({ session: undefined, caller, envelope, exchange, trace: undefined }, context);
  const [route] = sent;
  const edited = route && toBuffer(applyEdits(envelope.bytes, route.edits ?? [])).toString();
  return {
    server: route?.server.id,
    message: edited === undefined ? undefined : JSON.parse(edited),
    error: responses[0] === undefined ? undefined : JSON.parse(responses[0]).error,
  };
}

const listOf = (aggregate: Aggregate, kind: 'tools' | 'prompts' | 'resources'): Record<string, string>[] =>
  JSON.parse(aggregate.list(kind).raw.toString())[kind];

test('a profile allows calls of its listed tools, under the same names as /mcp, and all other tools are unknown', () => {
  const change = fc.record({ settings: anyCatalog, entry: anyEntry });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), fc.boolean(), (changes, isModern) => {
      const [first, ...later] = changes as [(typeof changes)[0], ...typeof changes];
      const catalog = new ProfiledCatalog(first.settings, first.entry);
      const { profile } = catalog;
      for (const next of [undefined, ...later]) {
        if (next !== undefined) catalog.change(next.settings, next.entry);
        // A change keeps the profile object, which open sessions use.
        expect(catalog.profile).toBe(profile);
        const inside = catalog.settings.filter((server) => catalog.isInside(server));
        expect(profile.servers().map((server) => server.id)).toEqual(inside.map((server) => server.id));
        for (const kind of ['tools', 'prompts'] as const) {
          const listedNames = listOf(profile.aggregate, kind).map((item) => item.name ?? '');
          // Profile patterns select tools only.
          const expected = inside.flatMap((server) =>
            server.isDisabled
              ? []
              : server[kind].filter((item) => kind === 'prompts' || catalog.isShown(server.id, item)),
          );
          expect(listedNames).toHaveLength(expected.length);
          const method = kind === 'tools' ? 'tools/call' : 'prompts/get';
          for (const { name: mergedName = '' } of listOf(catalog.aggregate, kind)) {
            const routed = routeMessage(profile, { method, params: { name: mergedName } }, isModern);
            const target = catalog.aggregate.find(kind, mergedName);
            const isListed = listedNames.includes(mergedName);
            // A name with a digest may look like an unlisted name of another server, which then receives it.
            const rival = isListed ? undefined : profile.aggregate.findUnlisted(kind, mergedName)?.server.id;
            expect(rival).toSatisfy(
              () => rival === undefined || (profile.has(rival) && rival !== target?.server.id),
            );
            expect(routed.server, mergedName).toBe(isListed ? target?.server.id : rival);
            if (isListed) expect(routed.message.params.name).toBe(target?.key);
            else if (rival === undefined) {
              // A request for an unknown name fails with the same error.
              const unknown = routeMessage(
                profile,
                { method, params: { name: 'un__known' } },
                isModern,
              ).error;
              expect(routed.error).toEqual({
                ...unknown,
                message: unknown.message.replace('un__known', mergedName),
              });
            }
            const call = {
              method: 'tools/call',
              params: { name: 'call_tool', arguments: { name: mergedName } },
            };
            if (kind === 'tools') {
              const answer = profile.search?.answer(
                readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }))),
              );
              expect(answer !== undefined && 'target' in answer).toBe(isListed);
            } else {
              const ref = { type: 'ref/prompt', name: mergedName };
              const params = { ref, argument: { name: 'x', value: '' } };
              expect(routeMessage(profile, { method: 'completion/complete', params }, isModern).server).toBe(
                isListed ? target?.server.id : undefined,
              );
            }
          }
          expect(listOf(catalog.aggregate, kind).map((item) => item.name)).toEqual(
            expect.arrayContaining(listedNames),
          );
        }
        // A server may accept unlisted names, if it lists more for some clients, but never a name outside the
        // profile.
        for (const server of catalog.settings) {
          const unlistedName = `${server.id}__zz`;
          const target = catalog.aggregate.findUnlisted('tools', unlistedName);
          const isReachable =
            target !== undefined &&
            profile.has(target.server.id) &&
            catalog.isShown(target.server.id, target.key);
          const routed = routeMessage(
            profile,
            { method: 'tools/call', params: { name: unlistedName } },
            isModern,
          );
          expect(routed.server).toBe(isReachable ? target.server.id : undefined);
        }
        const enabled = inside.filter((server) => !server.isDisabled);
        for (const address of ['x://1', 'x://2', 'y://1', 'z://none']) {
          // An address that no server lists belongs to the only server, or to the first server that lists the
          // same scheme. All schemes have one letter.
          const lister = enabled.find(({ resources }) => resources.includes(address));
          const similar = enabled.find(({ resources }) => resources.some((each) => each[0] === address[0]));
          const owner = lister ?? (enabled.length === 1 ? enabled[0] : similar);
          const read = { method: 'resources/read', params: { uri: address } };
          expect(routeMessage(profile, read, isModern).server).toBe(owner?.id);
        }
      }
    }),
    { numRuns: 300 },
  );
});

/** Returns a connection of the server, and the messages that the gateway sends over it. */
const connectionOf = (serverId: string) => {
  const sent: string[] = [];
  const sendRaw = (text: Buffer) => void sent.push(text.toString());
  const pauses = { pause: () => {}, resume: () => {} };
  return { sent, connection: { server: serverId, sendRaw, ...pauses } as unknown as Connection };
};

test('no message or list change of a server outside a profile reaches a client of the profile (PFL2)', () => {
  // A server updates a resource, logs, sends a request, or changes its tool list for the first time or again.
  const serverStep = fc.record({
    do: fc.constantFrom('update', 'log', 'ask', 'list' as const),
    id,
    isFirst: fc.boolean(),
  });
  const change = fc.record({ do: fc.constant('change' as const), settings: anyCatalog, entry: anyEntry });
  const anySteps = fc.array(fc.oneof({ weight: 4, arbitrary: serverStep }, change), { maxLength: 20 });
  fc.assert(
    fc.property(anyCatalog, anyEntry, anySteps, (settings, entry, steps) => {
      const catalog = new ProfiledCatalog(settings, entry);
      const { profile, profiles } = catalog;
      const sessions = new Sessions({
        maxSessions: 10,
        idleMs: 1e9,
        log: silentLog,
        onEnd: () => {},
        profiles: () => profiles.all(),
      });
      const client = { protocolVersion: latestSessionVersion, clientInfo: {}, capabilities: {} };
      const inside = sessions.create({ target: undefined, profile, ...client });
      const outside = sessions.create({ target: undefined, ...client });
      const received = { inside: [] as string[], outside: [] as string[], listening: [] as string[] };
      inside.stream = {
        isConnected: true,
        send: (text) => void received.inside.push(text.toString()),
        end() {},
      };
      outside.stream = {
        isConnected: true,
        send: (text) => void received.outside.push(text.toString()),
        end() {},
      };
      const listening = new ListenStream(
        readClientMessage(
          Buffer.from('{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{}}'),
        ),
        {
          target: undefined,
          profile,
          caller: { clientInfo: {}, capabilities: {}, logLevel: undefined },
          owner: { principal: 'anonymous', client: '' },
          outlet: { send: (text) => void received.listening.push(text.toString()), finish() {}, drop() {} },
          serverInfo: {},
          redact: (text) => text,
          onEnd: () => {},
        },
      );
      sessions.addListening(listening);
      listening.acknowledge(['x://1']);
      for (const step of steps) {
        for (const messages of Object.values(received)) messages.length = 0;
        if (step.do === 'change') {
          catalog.change(step.settings, step.entry);
          continue;
        }
        const isInside = profile.has(step.id);
        const { connection, sent } = connectionOf(step.id);
        if (step.do === 'list') {
          const before = [profile.changes.count, inside.lists?.isDue(profile.changes)];
          sessions.announce(step.id, ['tools'], step.isFirst);
          if (!isInside)
            expect([profile.changes.count, inside.lists?.isDue(profile.changes)]).toEqual(before);
          else expect(profile.changes.count).toBe((before[0] as number) + 1);
          continue;
        }
        const text = {
          update: '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://1"}}',
          log: '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}',
          ask: '{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{}}',
        }[step.do];
        const envelope = readServerMessage(Buffer.from(text));
        for (const session of [inside, outside])
          if (step.do === 'ask') session.onServerRequest(connection, envelope, undefined);
          else session.onServerNotification(connection, envelope, undefined);
        if (step.do !== 'ask') listening.onServerNotification(connection, envelope);
        expect(received.outside).toHaveLength(1);
        expect(received.inside).toHaveLength(isInside ? 1 : 0);
        expect(received.listening).toHaveLength(isInside && step.do === 'update' ? 1 : 0);
        // The session in the profile rejects requests from outside servers.
        expect(sent).toHaveLength(step.do === 'ask' && !isInside ? 1 : 0);
      }
      sessions.close();
    }),
    { numRuns: 200 },
  );
});
