// Profiles of any catalog: the listed items are the reachable items, after random requests and changes of
// profile and catalog. Messages of servers outside the profile never reach its clients.
// Invariant PFL2 is in actors/mcp/clients/profiles/profile.ts.

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

// Including ids that are prefixes of others, and names above the length limit.
const ids = ['a', 'a_', 'a__b', 'be.ta', 'read'];
const id = fc.constantFrom(...ids);
const tag = fc.constantFrom('t', 'u');
const name = fc.constantFrom('b', 'b__c', 'read', 'read_file', 'write', 'x'.repeat(70), '_x');
const uri = fc.constantFrom('x://1', 'x://2', 'y://1');
const few = <T>(one: fc.Arbitrary<T>) => fc.uniqueArray(one, { maxLength: 4 });

interface ServerSetting {
  readonly id: string;
  readonly tags: readonly string[];
  readonly isOwn: boolean;
  readonly isOff: boolean;
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
}

const server = fc.record({
  id,
  tags: few(tag),
  isOwn: fc.boolean(),
  isOff: fc.boolean(),
  tools: few(name),
  prompts: few(name),
  resources: few(uri),
});
const catalog: fc.Arbitrary<ServerSetting[]> = fc.uniqueArray(server, {
  selector: (one) => one.id,
  maxLength: 5,
});
const pattern = fc.constantFrom('*', 'read*', '*__read*', 'a__*', 'b', '*__b', 'be.ta__*', 'be_ta__*', 'zz');
const entry: fc.Arbitrary<ProfileEntry> = fc.record(
  { servers: few(id), tags: few(tag), tools: few(pattern) },
  { requiredKeys: [] },
);

const eras = { knownEras: { legacy: true, modern: true }, serverEraFor: (era: string) => era };

/** Servers, the aggregate of them, and a profile. All of them can change. */
class World {
  servers: readonly ListedServer[] = [];
  settings: readonly ServerSetting[] = [];
  revision = 0;
  readonly all: Aggregate;
  readonly profiles: Profiles;
  entry: ProfileEntry = {};

  constructor(settings: readonly ServerSetting[], written: ProfileEntry) {
    const all = () => this.#managed;
    const revision = () => this.revision;
    const servers: ServerSource = {
      all,
      get revision() {
        return revision();
      },
    };
    this.all = new Aggregate(servers);
    this.profiles = new Profiles({ servers, tagsOf: () => [] });
    this.become(settings, written);
  }

  #managed: readonly ManagedServer[] = [];

  become(settings: readonly ServerSetting[], written: ProfileEntry): void {
    this.settings = settings;
    this.entry = written;
    this.servers = settings.map((one) => {
      const listed = new ListedServer(one.id, one);
      listed.entry.enabled = !one.isOff;
      const isolation = one.isOwn ? 'session' : 'shared';
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
      settings.map(({ id: one, tags, isOff }) => [one, { tags, enabled: !isOff }]),
    );
    this.profiles.apply({ it: written }, { servers: entries } as unknown as Catalog);
  }

  get profile(): Profile {
    return this.profiles.get('it');
  }

  /** The rule of the profile, implemented a second time. */
  isInside(one: ServerSetting): boolean {
    const { servers, tags } = this.entry;
    if (servers === undefined && tags === undefined) return true;
    return servers?.includes(one.id) === true || one.tags.some((each) => tags?.includes(each) === true);
  }

  isShown(serverId: string, tool: string): boolean {
    const { tools } = this.entry;
    const servers = this.settings.filter(({ isOff }) => !isOff).map((one) => one.id);
    return tools === undefined || tools.some((each) => mayNameTool(each, serverId, tool, servers));
  }
}

function mayNameTool(written: string, serverId: string, tool: string, servers: readonly string[]): boolean {
  const parts = written.split('*').map((part) => part.replace('.', '\\.'));
  const like = new RegExp(`^${parts.join('.*')}$`, 's');
  if (!written.includes('__')) return like.test(tool);
  const longestFirst = [...servers].sort((one, other) => other.length - one.length);
  const owner = longestFirst.find((one) => written.startsWith(`${one}__`));
  if (owner !== undefined && owner !== serverId) return false;
  const mergedName = new MergedNames(servers).namesOf(serverId, [tool]).get(tool) ?? '';
  return like.test(`${serverId}__${tool}`) || like.test(mergedName);
}

/** Returns the target, or the error response. */
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
  return {
    server: route?.server.id,
    message:
      route === undefined
        ? undefined
        : JSON.parse(toBuffer(applyEdits(envelope.bytes, route.edits ?? [])).toString()),
    error: responses[0] === undefined ? undefined : JSON.parse(responses[0]).error,
  };
}

const listOf = (from: Aggregate, kind: 'tools' | 'prompts' | 'resources'): Record<string, string>[] =>
  JSON.parse(from.list(kind).raw.toString())[kind];

test('tools in the list of a profile can be called by their names at /mcp, and all other tools are unknown', () => {
  const change = fc.record({ given: catalog, written: entry });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), fc.boolean(), (changes, isModern) => {
      const [first, ...later] = changes as [(typeof changes)[0], ...typeof changes];
      const world = new World(first.given, first.written);
      const { profile } = world;
      for (const next of [undefined, ...later]) {
        if (next !== undefined) world.become(next.given, next.written);
        expect(world.profile).toBe(profile);
        const inside = world.settings.filter((one) => world.isInside(one));
        expect(profile.servers().map((one) => one.id)).toEqual(inside.map((one) => one.id));
        for (const kind of ['tools', 'prompts'] as const) {
          const listedNames = listOf(profile.aggregate, kind).map((one) => one.name ?? '');
          const expected = inside.flatMap((one) =>
            one.isOff ? [] : one[kind].filter((tool) => kind === 'prompts' || world.isShown(one.id, tool)),
          );
          expect(listedNames).toHaveLength(expected.length);
          const method = kind === 'tools' ? 'tools/call' : 'prompts/get';
          for (const { name: seen = '' } of listOf(world.all, kind)) {
            const found = routeMessage(profile, { method, params: { name: seen } }, isModern);
            const target = world.all.find(kind, seen);
            const isThere = listedNames.includes(seen);
            // A digest name may look like a name of a second server, which takes precedence.
            const guess = isThere ? undefined : profile.aggregate.findUnlisted(kind, seen)?.server.id;
            expect(guess).toSatisfy(
              () => guess === undefined || (profile.has(guess) && guess !== target?.server.id),
            );
            expect(found.server, seen).toBe(isThere ? target?.server.id : guess);
            if (isThere) expect(found.message.params.name).toBe(target?.key);
            else if (guess === undefined) {
              const nobodys = routeMessage(
                profile,
                { method, params: { name: 'nobody__has' } },
                isModern,
              ).error;
              expect(found.error).toEqual({
                ...nobodys,
                message: nobodys.message.replace('nobody__has', seen),
              });
            }
            const call = { method: 'tools/call', params: { name: 'call_tool', arguments: { name: seen } } };
            if (kind === 'tools') {
              const answer = profile.search?.answer(
                readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }))),
              );
              expect(answer !== undefined && 'target' in answer).toBe(isThere);
            } else {
              const ref = { type: 'ref/prompt', name: seen };
              const params = { ref, argument: { name: 'x', value: '' } };
              expect(routeMessage(profile, { method: 'completion/complete', params }, isModern).server).toBe(
                isThere ? target?.server.id : undefined,
              );
            }
          }
          expect(listOf(world.all, kind).map((one) => one.name)).toEqual(expect.arrayContaining(listedNames));
        }
        // A server may accept unlisted names, if it lists more for some clients, but never a name outside the
        // profile.
        for (const one of world.settings) {
          const seen = `${one.id}__zz`;
          const there = world.all.findUnlisted('tools', seen);
          const isThere =
            there !== undefined && profile.has(there.server.id) && world.isShown(there.server.id, there.key);
          const found = routeMessage(profile, { method: 'tools/call', params: { name: seen } }, isModern);
          expect(found.server).toBe(isThere ? there.server.id : undefined);
        }
        const able = inside.filter((one) => !one.isOff);
        for (const at of ['x://1', 'x://2', 'y://1', 'z://none']) {
          // An unlisted address is searched at servers that list its scheme.
          const similar = able.find(({ resources }) => resources.some((uri) => uri[0] === at[0]));
          const owner =
            able.find((one) => one.resources.includes(at)) ?? (able.length === 1 ? able[0] : similar);
          const read = { method: 'resources/read', params: { uri: at } };
          expect(routeMessage(profile, read, isModern).server).toBe(owner?.id);
        }
      }
    }),
    { numRuns: 300 },
  );
});

/** Returns a server connection, as its recipients see it. */
const connectionOf = (serverId: string) => {
  const refused: string[] = [];
  const sendRaw = (text: Buffer) => void refused.push(text.toString());
  const pauses = { pause: () => {}, resume: () => {} };
  return { refused, connection: { server: serverId, sendRaw, ...pauses } as unknown as Connection };
};

test('no message or list change of a server outside reaches a session or listening client in the profile (PFL2)', () => {
  const say = fc.record({
    do: fc.constantFrom('update', 'log', 'ask', 'list' as const),
    id,
    isFirst: fc.boolean(),
  });
  const become = fc.record({ do: fc.constant('become' as const), given: catalog, written: entry });
  const steps = fc.array(fc.oneof({ weight: 4, arbitrary: say }, become), { maxLength: 20 });
  fc.assert(
    fc.property(catalog, entry, steps, (serverSettings, written, all) => {
      const world = new World(serverSettings, written);
      const { profile, profiles } = world;
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
      for (const step of all) {
        for (const list of Object.values(received)) list.length = 0;
        if (step.do === 'become') {
          world.become(step.given, step.written);
          continue;
        }
        const isInside = profile.has(step.id);
        const { connection, refused } = connectionOf(step.id);
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
        for (const one of [inside, outside])
          if (step.do === 'ask') one.onServerRequest(connection, envelope, undefined);
          else one.onServerNotification(connection, envelope, undefined);
        if (step.do !== 'ask') listening.onServerNotification(connection, envelope);
        expect(received.outside).toHaveLength(1);
        expect(received.inside).toHaveLength(isInside ? 1 : 0);
        expect(received.listening).toHaveLength(isInside && step.do === 'update' ? 1 : 0);
        // A server request is rejected.
        expect(refused).toHaveLength(step.do === 'ask' && !isInside ? 1 : 0);
      }
      sessions.close();
    }),
    { numRuns: 200 },
  );
});
