// Constructors return complete objects: they receive every service, and no method or caller sets one later.
// The parser finds the forms that break this rule. Fields for changing state are allowed.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const sourceFolders = ['config', 'machines', 'actors', 'libs', 'src'];

/** Objects that a composition makes once; others use them. */
const services = [
  ...['Store', 'StorePart', 'Log', 'Redactor', 'GatewayRuntime', 'GatewayNode', 'Life', 'RootRef', 'McpSide'],
  ...[
    'Cluster',
    'ClusterPart',
    'ClusterMembership',
    'NodePeers',
    'StateFolder',
    'ChildRecords',
    'AnyActorRef',
  ],
  ...['RunningAutomation', 'Dispatcher', 'Adapters', 'ConnectionRegistry', 'TriggerRegistry', 'TriggerHost'],
  ...['Front', 'HttpServices', 'NodesFront', 'Peers', 'Forwards', 'TriggersFront', 'Webhooks', 'Heartbeat'],
  ...['Listener', 'Inspector', 'OriginGuard', 'Identification', 'RouteContext', 'Reloads', 'StdioFront'],
];

/** Hooks that the layers of one call add to its exchange, and events of foreign objects. */
const allowedHooks = [
  ...['request.exchange.whenEnded', 'exchange.whenEnded', 'exchange.rewrite', 'exchange.releaseBytes'],
  ...['call.onEnd', 'running.cancel', 'stream.whenEnded', 'own.provide'],
  ...['feed.onerror', 'stream.onerror', 'parser.validateLink'],
];

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** Returns the nodes below one, itself included. */
function* nodesIn(value: unknown): Iterable<Node> {
  if (Array.isArray(value)) for (const each of value) yield* nodesIn(each);
  if (!isNode(value)) return;
  yield value;
  for (const each of Object.values(value)) yield* nodesIn(each);
}

const child = (node: Node, name: string): Node | undefined => {
  const value = node[name];
  return isNode(value) ? value : undefined;
};
const isFunction = (node: Node | undefined) => /Function/.test(node?.type ?? '');
const nameOf = (key: Node | undefined) =>
  `${key?.type === 'PrivateIdentifier' ? '#' : ''}${String(key?.name ?? key?.value)}`;

/** Returns the member name of a `this` expression; otherwise undefined. */
function ownMember(node: Node | undefined): string | undefined {
  if (node?.type !== 'MemberExpression' || child(node, 'object')?.type !== 'ThisExpression') return undefined;
  return nameOf(child(node, 'property'));
}

/** Returns a file's faults, each as `rule: detail`. */
function faultsOf(file: string, text: string): readonly string[] {
  const { program, errors } = parseSync(file, text);
  expect(errors, file).toEqual([]);
  const textOf = (node: Node | undefined) => (node === undefined ? '' : text.slice(node.start, node.end));
  const all = [...nodesIn(program)];
  // An alias may hide a service.
  const aliases = new Map(
    all.flatMap((node) =>
      node.type === 'TSTypeAliasDeclaration'
        ? [[nameOf(child(node, 'id')), textOf(child(node, 'typeAnnotation'))] as const]
        : [],
    ),
  );
  const typeNamesIn = (type: string): readonly string[] =>
    (type.match(/\w+/g) ?? []).flatMap((typeName) => [
      typeName,
      ...(aliases.get(typeName)?.match(/\w+/g) ?? []),
    ]);
  // A promise is kept while it is pending.
  const isService = (type: string) =>
    !type.includes('Promise<') && typeNamesIn(type).some((typeName) => services.includes(typeName));
  const isMissing = (type: string) => typeNamesIn(type).includes('undefined');
  const problems: string[] = [];

  for (const node of all) {
    if (node.definite === true) problems.push(`definite assignment: ${textOf(node)}`);
    if (node.type === 'TSAsExpression' && isPlaceholder(node)) problems.push(`placeholder: ${textOf(node)}`);
    if (node.type === 'MethodDefinition' && node.kind === 'get' && throwsIfMissing(node))
      problems.push(`throwing getter: ${nameOf(child(node, 'key'))}`);
    if (node.type === 'AssignmentExpression' && isHookFromOutside(node) && !isAllowed(node))
      problems.push(`set from outside: ${textOf(child(node, 'left'))}`);
    if (node.type === 'ClassDeclaration' || node.type === 'ClassExpression')
      problems.push(...lateFields(node));
    if (node.type === 'VariableDeclaration' && node.kind === 'let')
      for (const declared of node.declarations as readonly Node[]) {
        const type = textOf(child(child(declared, 'id') ?? declared, 'typeAnnotation'));
        if (declared.init === null && isService(type) && isMissing(type))
          problems.push(`late variable: ${textOf(declared)}`);
      }
  }
  return problems;

  function isAllowed(assignment: Node): boolean {
    return allowedHooks.includes(textOf(child(assignment, 'left')));
  }

  /** Service fields that methods set, and functions that methods replace. */
  function lateFields(node: Node): readonly string[] {
    const className = nameOf(child(node, 'id'));
    const members = (child(node, 'body')?.body ?? []) as readonly Node[];
    const faults: string[] = [];
    for (const field of members.filter(({ type }) => type === 'PropertyDefinition')) {
      const name = nameOf(child(field, 'key'));
      const type = textOf(child(field, 'typeAnnotation'));
      const isPlaceholderFunction = isFunction(child(field, 'value'));
      for (const method of members) {
        if (method.type !== 'MethodDefinition' || method.kind === 'constructor') continue;
        const value = child(method, 'value');
        const parameters = [...nodesIn(value?.params)].map((each) => each.name);
        for (const each of nodesIn(value?.body)) {
          if (each.type !== 'AssignmentExpression' || ownMember(child(each, 'left')) !== name) continue;
          const right = child(each, 'right');
          if (textOf(right) === 'undefined') continue;
          const label = `${className}.${nameOf(child(method, 'key'))}`;
          const isTakenOver = right?.type === 'Identifier' && parameters.includes(right.name);
          if (isService(type) && isMissing(type)) faults.push(`late service: ${name} in ${label}`);
          else if (isPlaceholderFunction && isTakenOver) faults.push(`late function: ${name} in ${label}`);
        }
      }
    }
    return faults;
  }
}

/** Returns true for `undefined as unknown as T`, a placeholder for a missing object. */
function isPlaceholder(node: Node): boolean {
  const inner = child(node, 'expression');
  if (inner?.type !== 'TSAsExpression') return false;
  const value = child(inner, 'expression');
  return value?.name === 'undefined' || (value?.type === 'Literal' && value.value === null);
}

/** Returns true for getters that throw if an own field is undefined. */
function throwsIfMissing(getter: Node): boolean {
  return [...nodesIn(child(getter, 'value'))].some(
    (node) =>
      node.type === 'IfStatement' &&
      [...nodesIn(child(node, 'consequent'))].some(({ type }) => type === 'ThrowStatement') &&
      [...nodesIn(child(node, 'test'))].some((each) => isComparedWithUndefined(each)),
  );
}

function isComparedWithUndefined(node: Node): boolean {
  if (node.type === 'UnaryExpression') return ownMember(child(node, 'argument')) !== undefined;
  if (node.type !== 'BinaryExpression') return false;
  const sides = [child(node, 'left'), child(node, 'right')];
  return (
    sides.some((side) => ownMember(side) !== undefined) && sides.some((side) => side?.name === 'undefined')
  );
}

/** Returns true for `other.onOpen = …` and for a function that is assigned to a member of another object. */
function isHookFromOutside(assignment: Node): boolean {
  const left = child(assignment, 'left');
  const right = child(assignment, 'right');
  if (left?.type !== 'MemberExpression' || ownMember(left) !== undefined) return false;
  if (right?.name === 'undefined') return false;
  return isFunction(right) || /^(on|when)[A-Z]/.test(nameOf(child(left, 'property')));
}

const sources = sourceFolders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `${folder}/${name}`),
);

test('each class gets all its services in the constructor, and none is set later', () => {
  expect(sources.length).toBeGreaterThan(1_000);
  const faults = sources.flatMap((file) =>
    faultsOf(file, readFileSync(join(root, file), 'utf8')).map((fault) => `${file}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

test('each service name that the constructor check knows is declared in the source', () => {
  const declaration = /^export (?:abstract )?(?:class|interface|type) (\w+)/gm;
  const declared = new Set(
    sources.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return [...text.matchAll(declaration)].map(([, name]) => name);
    }),
  );
  expect(services.filter((name) => !declared.has(name))).toEqual(['AnyActorRef']);
});

describe('the check of constructors', () => {
  const inClass = (text: string) => `export class A { ${text} }`;
  test.each([
    ['definite assignment', inClass('#peers!: Peers;')],
    ['definite assignment', 'export function f() { let gateway!: GatewayRuntime; return () => gateway; }'],
    ['placeholder', 'export const a = { connection: undefined as unknown as Connection };'],
    ['placeholder', 'export const a = { connection: null as unknown as Connection };'],
    [
      'throwing getter',
      inClass(
        "#a: B | undefined; get a() { if (this.#a === undefined) throw new Error('not yet'); return this.#a; }",
      ),
    ],
    [
      'throwing getter',
      inClass('a: B | undefined; get b() { if (!this.a) { throw new Error(); } return this.a; }'),
    ],
    ['late service', inClass('#store: Store | undefined; use(store: Store) { this.#store = store; }')],
    [
      'late service',
      `type Kept = Pick<Store, 'get'>; ${inClass('#store: Kept | undefined; use(store: Kept) { this.#store = store; }')}`,
    ],
    [
      'late service',
      inClass('#listener: Listener | undefined; async boot() { this.#listener = await listen(); }'),
    ],
    ['late service', inClass('log?: Log | undefined; load(log: Log) { this.log ??= log; }')],
    [
      'late function',
      inClass(
        '#onChange: () => void = () => {}; whenChanged(listener: () => void) { this.#onChange = listener; }',
      ),
    ],
    [
      'late function',
      inClass('vouches = (a: B) => false; use(vouches: (a: B) => boolean) { this.vouches = vouches; }'),
    ],
    [
      'late variable',
      'export function f() { let running: RunningAutomation | undefined; return () => running; }',
    ],
    ['set from outside', 'export function f(guard: Guard) { guard.vouchesFor = () => true; }'],
    ['set from outside', inClass('begin() { this.gate.onOpen = this.pump; }')],
  ])('finds a service that is set late, in the form "%s": %s', (rule, text) => {
    expect(faultsOf('actors/x.ts', text).map((fault) => fault.split(':')[0])).toEqual([rule]);
  });

  test.each([
    inClass('readonly #store: Store; constructor(store: Store) { this.#store = store; }'),
    inClass('#timer: NodeJS.Timeout | undefined; begin() { this.#timer = setInterval(() => {}); }'),
    inClass('#lease: NodeLease | undefined; take(lease: NodeLease) { this.#lease = lease; }'),
    inClass('#listener: Listener | undefined; close() { this.#listener = undefined; }'),
    inClass("#isOver = false; get a() { if (this.#isOver) throw new Error('over'); return 1; }"),
    inClass('#head: Head; get b() { if (this.#head.size > 1) throw new Error(); return this.#head; }'),
  ])('allows fields for changing state: %s', (text) => {
    expect(faultsOf('actors/x.ts', text)).toEqual([]);
  });
});
