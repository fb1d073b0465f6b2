// An MCP client as its own documents describe it: where its files are, under which key they name servers, and how an
// entry looks. Data and pure functions without Node, since the page in the browser shows the same entries.

/** What the places of a client's files depend on. */
export interface Machine {
  /** As Node says it: `darwin`, `win32`, or anything else for Linux and its kin. */
  readonly platform: string;
  readonly home: string;
  /** `%APPDATA%`; by default where Windows has it. */
  readonly appData?: string | undefined;
  /** `$XDG_CONFIG_HOME`; by default `~/.config`. */
  readonly configHome?: string | undefined;
  /** The folder of the project. */
  readonly cwd: string;
}

export type ClientScope = 'user' | 'project';

export interface ClientFile {
  readonly scope: ClientScope;
  readonly path: string;
}

/** The keys under which clients name their servers. */
export type ServersKey = 'mcpServers' | 'servers' | 'context_servers';

export type ClientId =
  | 'claude-desktop'
  | 'claude-code'
  | 'cursor'
  | 'vscode'
  | 'windsurf'
  | 'zed'
  | 'gemini'
  | 'cline';

export interface Client {
  readonly id: ClientId;
  readonly label: string;
  readonly root: ServersKey;
  /** How an entry names an address; undefined where entries can only start a program. */
  readonly remote:
    | { readonly urlKey: 'url' | 'serverUrl' | 'httpUrl'; readonly type?: 'http' | 'streamableHttp' }
    | undefined;
  /** The `type` of an entry that starts a program, where the client asks for one. */
  readonly programType?: 'stdio';
  /**
   * How an entry refers to a variable: `${NAME}`, `${env:NAME}`, or a question of the client's own, `${input:name}`.
   * `none` takes every value as it stands.
   */
  readonly reference: 'plain' | 'env' | 'input' | 'none';
  /** Whether a program that the client starts sees all of the client's own variables. */
  readonly isPassingEnvironment: boolean;
  /** What to do for the client to read its file again. */
  readonly nextStep: string;
  /** The files it reads, the one to write to first. The first of the user's is where a new one belongs. */
  files(machine: Machine): readonly ClientFile[];
}
