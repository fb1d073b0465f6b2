// Types for MCP clients: configuration files, the key for servers in these files, and the entry format.
// Contains no Node code, since the inspector page, which runs in a browser, shows the same entries.

/** Machine properties that determine the file locations. */
export interface Machine {
  /** Node's platform name: `darwin`, `win32`, or another value for Linux and similar systems. */
  readonly platform: string;
  readonly home: string;
  /** `%APPDATA%`. Default: the usual Windows folder. */
  readonly appData?: string | undefined;
  /** `$XDG_CONFIG_HOME`. Default: `~/.config`. */
  readonly configHome?: string | undefined;
  /** Project folder. */
  readonly cwd: string;
}

/** Range of a configuration file: all projects of the user, or one project. */
export type ClientScope = 'user' | 'project';

export interface ClientFile {
  readonly scope: ClientScope;
  readonly path: string;
}

/** Top-level keys for servers. */
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
  /** Name in messages. */
  readonly label: string;
  /** Key that contains the servers. */
  readonly root: ServersKey;
  /** Address fields; undefined if entries can only start programs. */
  readonly remote:
    | { readonly urlKey: 'url' | 'serverUrl' | 'httpUrl'; readonly type?: 'http' | 'streamableHttp' }
    | undefined;
  /** `type` for entries that start a program, if required. */
  readonly programType?: 'stdio';
  /**
   * Syntax for variables in entries: `${NAME}`, `${env:NAME}`, or a prompt of the client, `${input:name}`.
   * `none` means no substitution.
   */
  readonly reference: 'plain' | 'env' | 'input' | 'none';
  /** True if programs inherit all variables of the client. */
  readonly isPassingEnvironment: boolean;
  /** Instruction for making the client reload its file. */
  readonly nextStep: string;
  /**
   * Configuration files in order of preference for writing. New user files are created at the first user
   * location.
   */
  files(machine: Machine): readonly ClientFile[];
}
