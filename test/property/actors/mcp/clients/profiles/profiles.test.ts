// Profiles of any catalog: what is listed is what can be reached, whatever is asked for and however the profile and the
// catalog change, and no word of a server outside comes to a client inside.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { silentLog } from '../../../../../../actors/base/errors/log.ts';
import { Aggregate, type ServerSource } from '../../../../../../actors/mcp/clients/aggregate/aggregate.ts';
import { MergedNames } from '../../../../../../actors/mcp/clients/aggregate/tool-names.ts';
import { ClientExchange } from '../../../../../../actors/mcp/clients/client-exchange.ts';
import type { Profile } from '../../../../../../actors/mcp/clients/profiles/profile.ts';
import { Profiles } from '../../../../../../actors/mcp/clients/profiles/profiles.ts';
import type { RoutedRequest } from '../../../../../../actors/mcp/clients/routed-request.ts';
import {
  type AggregateContext,
  routeToAny,
} from '../../../../../../actors/mcp/clients/routing/aggregate-router.ts';
import { ListenStream } from '../../../../../../actors/mcp/clients/sessions/listen-stream.ts';
import { Sessions } from '../../../../../../actors/mcp/clients/sessions/sessions.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage, readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { whole } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import { latestSessionVersion } from '../../../../../../actors/mcp/servers/cache/server-description.ts';
import type { ManagedServer } from '../../../../../../actors/mcp/servers/managed-server.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';
import type { Catalog } from '../../../../../../config/catalog/catalog-schema.ts';
import type { ProfileEntry } from '../../../../../../config/gateway-file/profile-schema.ts';
import { ListedServer } from '../../../../../fixtures/server/listed-server.ts';

// Among them what stands before `__` in another, and what does not fit into a name.
const ids = ['a', 'a_', 'a__b', 'be.ta', 'read'];
const id = fc.constantFrom(...ids);
const tag = fc.constantFrom('t', 'u');
const name = fc.constantFrom('b', 'b__c', 'read', 'read_file', 'write', 'x'.repeat(70), '_x');
const uri = fc.constantFrom('x://1', 'x://2', 'y://1');
const few = <T>(one: fc.Arbitrary<T>) => fc.uniqueArray(one, { maxLength: 4 });

interface Given {
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
const catalog: fc.Arbitrary<Given[]> = fc.uniqueArray(server, { selector: (one) => one.id, maxLength: 5 });
const pattern = fc.constantFrom('*', 'read*', '*__read*', 'a__*', 'b', '*__b', 'be.ta__*', 'be_ta__*', 'zz');
const entry: fc.Arbitrary<ProfileEntry> = fc.record(
  { servers: few(id), tags: few(tag), tools: few(pattern) },
  { requiredKeys: [] },
);

const eras = { known: { legacy: true, modern: true }, for: (era: string) => era };

/** Servers, the whole of them as one, and one profile; all of which may become others. */
class World {
  servers: readonly ListedServer[] = [];
  given: readonly Given[] = [];
  revision = 0;
  readonly all: Aggregate;
  readonly profiles: Profiles;
  entry: ProfileEntry = {};

  constructor(given: readonly Given[], written: ProfileEntry) {
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
    this.become(given, written);
  }

  #managed: readonly ManagedServer[] = [];

  become(given: readonly Given[], written: ProfileEntry): void {
    this.given = given;
    this.entry = written;
    this.servers = given.map((one) => {
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
      given.map(({ id: one, tags, isOff }) => [one, { tags, enabled: !isOff }]),
    );
    this.profiles.apply({ it: written }, { servers: entries } as unknown as Catalog);
  }

  get profile(): Profile {
    return this.profiles.get('it');
  }

  /** The same rule in other words. */
  isInside(one: Given): boolean {
    const { servers, tags } = this.entry;
    if (servers === undefined && tags === undefined) return true;
    return servers?.includes(one.id) === true || one.tags.some((each) => tags?.includes(each) === true);
  }

  isShown(serverId: string, tool: string): boolean {
    const { tools } = this.entry;
    const servers = this.given.filter(({ isOff }) => !isOff).map((one) => one.id);
    return tools === undefined || tools.some((each) => isLike(each, serverId, tool, servers));
  }
}

function isLike(written: string, serverId: string, tool: string, servers: readonly string[]): boolean {
  const parts = written.split('*').map((part) => part.replace('.', '\\.'));
  const like = new RegExp(`^${parts.join('.*')}$`, 's');
  if (!written.includes('__')) return like.test(tool);
  const longestFirst = [...servers].sort((one, other) => other.length - one.length);
  const owner = longestFirst.find((one) => written.startsWith(`${one}__`));
  if (owner !== undefined && owner !== serverId) return false;
  const shown = new MergedNames(servers).namesOf(serverId, [tool]).get(tool) ?? '';
  return like.test(`${serverId}__${tool}`) || like.test(shown);
}

/** Where a message goes; undefined when it is refused, with what was said. */
function routed(profile: Profile, message: object, isModern: boolean) {
  const envelope = readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })));
  const sent: RoutedRequest[] = [];
  const said: string[] = [];
  const outlet = { send() {}, finish: (text: Buffer) => said.push(text.toString()), drop() {} };
  const exchange = new ClientExchange('1', outlet, { redact: (text) => text, onEnd: () => {} });
  const caller = isModern ? { capabilities: {}, clientInfo: {}, logLevel: undefined } : undefined;
  const context = {
    aggregate: profile.aggregate,
    search: undefined,
    profile,
    discovery: { settle: () => undefined },
    eraBridge: { listingClientOf: () => undefined, suspended: { has: () => false } },
    forwarder: { forward: (route: RoutedRequest) => sent.push(route) },
  } as unknown as AggregateContext;
  routeToAny({ session: undefined, caller, envelope, exchange, trace: undefined }, context);
  const [route] = sent;
  return {
    server: route?.server.id,
    message:
      route === undefined
        ? undefined
        : JSON.parse(whole(applyEdits(envelope.bytes, route.edits ?? [])).toString()),
    error: said[0] === undefined ? undefined : JSON.parse(said[0]).error,
  };
}

const listOf = (from: Aggregate, kind: 'tools' | 'prompts' | 'resources'): Record<string, string>[] =>
  JSON.parse(from.list(kind).raw.toString())[kind];

test('PFL1, PFL3: what is listed is what can be called, under the name it has at /mcp, and all else is unknown', () => {
  const change = fc.record({ given: catalog, written: entry });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), fc.boolean(), (changes, isModern) => {
      const [first, ...later] = changes as [(typeof changes)[0], ...typeof changes];
      const world = new World(first.given, first.written);
      const { profile } = world;
      for (const next of [undefined, ...later]) {
        if (next !== undefined) world.become(next.given, next.written);
        expect(world.profile).toBe(profile);
        const inside = world.given.filter((one) => world.isInside(one));
        expect(profile.servers().map((one) => one.id)).toEqual(inside.map((one) => one.id));
        for (const kind of ['tools', 'prompts'] as const) {
          const shown = listOf(profile.aggregate, kind).map((one) => one.name ?? '');
          const expected = inside.flatMap((one) =>
            one.isOff ? [] : one[kind].filter((tool) => kind === 'prompts' || world.isShown(one.id, tool)),
          );
          expect(shown).toHaveLength(expected.length);
          const method = kind === 'tools' ? 'tools/call' : 'prompts/get';
          for (const { name: seen = '' } of listOf(world.all, kind)) {
            const found = routed(profile, { method, params: { name: seen } }, isModern);
            const target = world.all.find(kind, seen);
            const isThere = shown.includes(seen);
            // What is hashed of one may read like a name of another, which then knows best.
            const guess = isThere ? undefined : profile.aggregate.findUnlisted(kind, seen)?.server.id;
            expect(guess).toSatisfy(
              () => guess === undefined || (profile.has(guess) && guess !== target?.server.id),
            );
            expect(found.server, seen).toBe(isThere ? target?.server.id : guess);
            if (isThere) expect(found.message.params.name).toBe(target?.key);
            else if (guess === undefined) {
              const nobodys = routed(profile, { method, params: { name: 'nobody__has' } }, isModern).error;
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
              expect(routed(profile, { method: 'completion/complete', params }, isModern).server).toBe(
                isThere ? target?.server.id : undefined,
              );
            }
          }
          expect(listOf(world.all, kind).map((one) => one.name)).toEqual(expect.arrayContaining(shown));
        }
        // A name that no list has may be right at a server that lists more for some; never at one outside.
        for (const one of world.given) {
          const seen = `${one.id}__zz`;
          const there = world.all.findUnlisted('tools', seen);
          const isThere =
            there !== undefined && profile.has(there.server.id) && world.isShown(there.server.id, there.key);
          const found = routed(profile, { method: 'tools/call', params: { name: seen } }, isModern);
          expect(found.server).toBe(isThere ? there.server.id : undefined);
        }
        const able = inside.filter((one) => !one.isOff);
        for (const at of ['x://1', 'x://2', 'y://1', 'z://none']) {
          const owner =
            able.find((one) => one.resources.includes(at)) ?? (able.length === 1 ? able[0] : undefined);
          const read = { method: 'resources/read', params: { uri: at } };
          expect(routed(profile, read, isModern).server).toBe(owner?.id);
        }
      }
    }),
    { numRuns: 300 },
  );
});

/** What a connection of a server is to those who hear of it. */
const connectionOf = (serverId: string) => {
  const refused: string[] = [];
  const sendRaw = (text: Buffer) => void refused.push(text.toString());
  return { refused, connection: { server: serverId, sendRaw } as unknown as Connection };
};

test('PFL2: no message of a server outside reaches a session or a client that listens inside, nor news of its lists', () => {
  const say = fc.record({
    do: fc.constantFrom('update', 'log', 'ask', 'list' as const),
    id,
    isFirst: fc.boolean(),
  });
  const become = fc.record({ do: fc.constant('become' as const), given: catalog, written: entry });
  const steps = fc.array(fc.oneof({ weight: 4, arbitrary: say }, become), { maxLength: 20 });
  fc.assert(
    fc.property(catalog, entry, steps, (given, written, all) => {
      const world = new World(given, written);
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
      const heard = { inside: [] as string[], outside: [] as string[], listening: [] as string[] };
      inside.stream = {
        isConnected: true,
        send: (text) => void heard.inside.push(text.toString()),
        end() {},
      };
      outside.stream = {
        isConnected: true,
        send: (text) => void heard.outside.push(text.toString()),
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
          outlet: { send: (text) => void heard.listening.push(text.toString()), finish() {}, drop() {} },
          serverInfo: {},
          redact: (text) => text,
          onEnd: () => {},
        },
      );
      sessions.addListening(listening);
      listening.acknowledge(['x://1']);
      for (const step of all) {
        for (const list of Object.values(heard)) list.length = 0;
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
        expect(heard.outside).toHaveLength(1);
        expect(heard.inside).toHaveLength(isInside ? 1 : 0);
        expect(heard.listening).toHaveLength(isInside && step.do === 'update' ? 1 : 0);
        // Who asks is told that nobody answers.
        expect(refused).toHaveLength(step.do === 'ask' && !isInside ? 1 : 0);
      }
      sessions.close();
    }),
    { numRuns: 200 },
  );
});
