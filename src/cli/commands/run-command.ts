// Runs the command that the first argument of the program names. Loaded only then: the plain form starts without it.

import { suggest } from '../../../config/reader/suggest.ts';
import { columnsOf, isTerminal, paintFor } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiClient, ApiProblem } from '../api/api-client.ts';
import {
  declareTarget,
  readTarget,
  refuseBareKey,
  type TargetOptions,
  targetHelp,
  UsageError,
} from '../api/target-options.ts';
import { withGateway } from '../chat/with-gateway.ts';
import { declaredBy, type Parsed, parseProgram } from '../command.ts';
import { commandHelp, commandList } from '../command-list.ts';
import type { Grammar } from '../completion/completed.ts';
import { parseOptions } from '../options.ts';
import { asInvoked } from '../program-name.ts';
import { parseStdioOptions } from '../stdio-options.ts';
import { store, storeVerbs } from '../store/store-command.ts';
import { complain, print, printJson } from '../views/output.ts';
import { approvalOperations } from './approval-operations.ts';
import { automationOperations } from './automation-operations.ts';
import { graphFlow } from './graph-flow.ts';
import { nodeOperations } from './node-operations.ts';
import { nounOperations } from './noun-operations.ts';
import type { Operation } from './operation.ts';
import { serverOperations } from './operations.ts';
import { runOperations } from './run-operations.ts';
import { runTargets } from './run-target.ts';

const operations: Readonly<Record<string, Operation>> = {
  ...serverOperations,
  ...automationOperations,
  ...runOperations,
  ...approvalOperations,
  ...nodeOperations,
  ...nounOperations,
  ...runTargets,
  graph: graphFlow,
};

type Run = (args: readonly string[], version: string) => Promise<number>;

const mcpCommand =
  (name: 'tools' | 'call' | 'resources' | 'prompts'): Run =>
  async (...given) =>
    (await import('../mcp/mcp-commands.ts')).runMcpCommand(name, ...given);

const catalogChange =
  (name: 'remove' | 'enable' | 'disable'): Run =>
  async (...given) =>
    (await import('../catalog/change-server.ts')).changeServer(name, ...given);

/** Those that are more than one question to a gateway; each loads its own code. */
const ownCommands: Readonly<Partial<Record<string, Run>>> = {
  machines: async (...given) => (await import('./machines.ts')).machines(...given),
  top: async (...given) => (await import('../top/top.ts')).top(...given),
  logs: async (...given) => (await import('./logs.ts')).logs(...given),
  chat: async (...given) => (await import('../chat/chat.ts')).chat(...given),
  validate: async (...given) => (await import('./validate.ts')).validate(...given),
  register: async (...given) => (await import('./register.ts')).register(...given),
  connect: async (...given) => (await import('../connect/connect.ts')).connect(...given),
  completion: async (...given) => (await import('./completion.ts')).completion(...given),
  init: async (...given) => (await import('../init/init.ts')).init(...given),
  explain: async (...given) => (await import('./explain.ts')).explain(...given),
  import: async (...given) => (await import('../import/import-command.ts')).importServers(...given),
  tools: mcpCommand('tools'),
  call: mcpCommand('call'),
  resources: mcpCommand('resources'),
  prompts: mcpCommand('prompts'),
  add: async (...given) => (await import('../catalog/add-server.ts')).addServer(...given),
  remove: catalogChange('remove'),
  enable: catalogChange('enable'),
  disable: catalogChange('disable'),
  search: async (...given) => (await import('../registry/search-registry.ts')).searchRegistry(...given),
  store,
  install: async (...given) => (await import('../registry/install-server.ts')).installServer(...given),
};

/** Runs `name` with the arguments after it, and gives the exit code. */
export async function runCommand(name: string, args: readonly string[], version: string): Promise<number> {
  if (name === 'help') {
    await print(`${commandHelp()}\n`);
    return 0;
  }
  if (name === '__complete') return complete(args, version);
  const known = Object.keys(commandList);
  if (/\.ya?ml$/i.test(name)) {
    complain('error: a file is no command; the configuration of the gateway is named by --config FILE');
    return 2;
  }
  if (!known.includes(name)) return unknownWord('command', name, known);
  try {
    const own = ownCommands[name];
    if (own !== undefined) return await own(args, version);
    if (Object.hasOwn(operations, name))
      return await operate(name, operations[name] as Operation, args, version);
    return await runVerb(name, args, version);
  } catch (error) {
    return failed(error);
  }
}

/** The second word says what to do; a plural alone is its list. */
async function runVerb(name: string, words: readonly string[], version: string): Promise<number> {
  const [verb = '', ...args] = words;
  const verbs = verbsOf(name);
  if (verb === '--help' || verb === '-h') {
    await print(`${verbHelp(name, verbs)}\n`);
    return 0;
  }
  const list = operations[`${name} list`];
  if (list !== undefined && /^(?:-.*)?$/.test(verb)) return operate(`${name} list`, list, words, version);
  if (verb === '') {
    complain(`error: ${name} needs a word that says what to do\n${verbHelp(name, verbs)}`);
    return 2;
  }
  const operation = verbs.includes(verb) ? operations[`${name} ${verb}`] : undefined;
  if (operation === undefined) return unknownWord(`word after ${name}`, verb, verbs);
  return operate(`${name} ${verb}`, operation, args, version);
}

function verbsOf(name: string): string[] {
  return Object.keys(operations).flatMap((each) =>
    each.startsWith(`${name} `) ? each.slice(name.length + 1) : [],
  );
}

/** For a shell, which shows what may stand next. */
async function complete(words: readonly string[], version: string): Promise<number> {
  const { answerShell } = await import('../completion/answer.ts');
  return answerShell(words, grammar(version));
}

/** All commands, as they declare themselves. */
export function grammar(version: string): Grammar {
  return {
    commands: Object.entries(commandList).map(([name, { description }]) => [name, description]),
    verbsOf: (name) =>
      name === 'store'
        ? storeVerbs
        : verbsOf(name).map((verb) => [verb, (operations[`${name} ${verb}`] as Operation).description]),
    declared: ([name, ...verb]) => {
      if (name === undefined) return declaredBy(() => parseOptions([], version));
      // Begun by main.ts, apart from the others.
      if (name === 'stdio') return declaredBy(() => parseStdioOptions([], version));
      const verbs = name === 'store' ? storeVerbs.map(([verb]) => verb) : verbsOf(name);
      const isCommand = verbs.length === 0 ? Object.hasOwn(commandList, name) : verbs.includes(verb[0] ?? '');
      if (!isCommand) return Promise.resolve(undefined);
      return declaredBy(() => runCommand(name, [...verb, '--help'], version));
    },
  };
}

function verbHelp(name: string, verbs: readonly string[]): string {
  const usages = verbs.map((verb) => {
    const { args, description } = operations[`${name} ${verb}`] as Operation;
    const words = [name, verb, ...args.map(([syntax]) => syntax)].join(' ');
    return [words, description] as const;
  });
  const width = Math.max(...usages.map(([words]) => words.length));
  const lines = usages.map(([words, description]) => `  ${words.padEnd(width)}  ${description}`);
  const isListed = verbs.includes('list');
  const text = [
    `Usage: actor-gateway ${name} ${isListed ? '[verb]' : '<verb>'} [options]`,
    ...(isListed ? ['', 'Without a verb it lists.'] : []),
    '',
    'Verbs (each has its own --help):',
    ...lines,
    '',
    'Exit codes: 0 done, 1 it failed, 2 wrong usage',
  ].join('\n');
  return asInvoked(text);
}

/** The word itself may be anything, a secret too, and is not repeated. */
function unknownWord(what: string, word: string, known: readonly string[]): number {
  const close = suggest(word, known);
  const hint = close === undefined ? `there are ${known.join(', ')}` : `did you mean ${close}?`;
  complain(`error: unknown ${what}; ${hint}\n(--help lists the commands and options)`);
  return 2;
}

/** Prints what went wrong and gives the exit code. Throws what is a fault of ours. */
function failed(error: unknown): number {
  if (error instanceof UsageError) {
    complain(`error: ${error.message}`);
    return 2;
  }
  if (!(error instanceof ApiProblem)) throw error;
  complain([error.message, ...error.details].map(printable).join('\n  '));
  return 1;
}

interface Options extends TargetOptions {
  readonly args: readonly string[];
  readonly own: Readonly<Record<string, unknown>>;
  readonly isJson: boolean;
}

async function operate(
  name: string,
  operation: Operation,
  args: readonly string[],
  version: string,
): Promise<number> {
  const parsed = parse(name, operation, args, version);
  if (parsed.do === 'exit') return parsed.code;
  const { options } = parsed;
  // What reads files itself needs no gateway for it.
  const { file: files } = options.own;
  if (operation.isWithOwnGateway !== true || files === undefined)
    return perform(operation, options, new ApiClient(await readTarget(options, process.env)));
  const target = { ...options, file: files as readonly string[] };
  return withGateway(target, (client) => perform(operation, options, client));
}

async function perform(operation: Operation, options: Options, client: ApiClient): Promise<number> {
  const { stdout } = process;
  const isScreen = isTerminal(stdout, process.env);
  const situation = {
    client,
    args: options.args,
    options: options.own,
    timeoutMs: (options.timeout ?? operation.timeoutSeconds) * 1000,
    paint: paintFor(stdout, process.env),
    width: isScreen ? columnsOf(stdout) : undefined,
  };
  try {
    const answer = await operation.ask(situation);
    if (options.isJson) await printJson(asJson(answer.text, isScreen));
    else {
      const lines = await operation.show(answer, situation);
      if (lines.length > 0) await print(`${lines.join('\n')}\n`);
    }
    return operation.exitCode?.(answer) ?? 0;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const isShown = options.isJson && error.answer?.body !== undefined;
    if (isShown) await printJson(asJson(error.answer?.text ?? '', isScreen));
    throw (await operation.explain?.(error, situation)) ?? error;
  }
}

function helpAfter({ examples = [], help = '' }: Operation): string {
  if (examples.length === 0) return `${help}${targetHelp}`;
  const lines = examples.map((line) => `  actor-gateway ${line}`);
  return ['', 'Examples:', ...lines, ...(help === '' ? [] : [help.trimEnd()]), targetHelp].join('\n');
}

function parse(
  name: string,
  operation: Operation,
  args: readonly string[],
  version: string,
): Parsed<Options> {
  return parseProgram(
    {
      name: `actor-gateway ${name}`,
      description: operation.description,
      version,
      after: helpAfter(operation),
      declare: (command) => {
        for (const [syntax, meaning] of operation.args) command.argument(syntax, meaning);
        operation.declare?.(command);
        declareTarget(command, operation.timeoutSeconds);
        command.option('--json', 'print what the HTTP API answers');
      },
      read: (command) => {
        refuseBareKey(command);
        const own = command.opts<TargetOptions & { json?: boolean }>();
        const { json, ...target } = own;
        return { ...target, own: { ...own }, args: command.args, isJson: json === true };
      },
    },
    args,
  );
}

/** As it came, on one line; indented for a person. */
function asJson(text: string, isScreen: boolean): string {
  return isScreen ? JSON.stringify(JSON.parse(text), undefined, 2) : text;
}
