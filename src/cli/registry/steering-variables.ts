// Environment variables that change the behaviour of programs: which programs and code they load, which
// settings, proxies and certificates they use. A registry entry may set them only with the user's permission.
//
// The table also applies to container images, because `docker` itself receives the variables. Case is
// ignored, as on Windows and in npm.

interface VariableGroup {
  /** Effect, as the end of the sentence "it can change …". */
  readonly effect: string;
  /** Names; a trailing `*` matches any suffix. */
  readonly names: readonly string[];
  readonly except?: readonly string[];
}

const groups: readonly VariableGroup[] = [
  {
    effect: 'which programs are run',
    names: [
      ...['PATH', 'PATHEXT', 'COMSPEC', 'SHELL', 'IFS', 'PAGER', 'LESSOPEN', 'EDITOR', 'VISUAL', 'BROWSER'],
      ...[
        'SSH_*',
        'SVN_SSH',
        'RSYNC_RSH',
        'SUDO_*',
        'CC',
        'CXX',
        'MAKEFLAGS',
        'RUSTC*',
        'ESBUILD_BINARY_PATH',
      ],
      ...['CHROME_PATH', 'PUPPETEER_*', 'PLAYWRIGHT_*'],
    ],
  },
  {
    effect: 'which code is loaded into every program',
    names: [
      ...['LD_*', 'DYLD_*', 'GCONV_PATH', 'GLIBC_TUNABLES', 'LOCPATH', 'OPENSSL_*'],
      ...['GTK_MODULES', 'GTK_PATH', 'QT_PLUGIN_PATH', 'GIO_EXTRA_MODULES'],
    ],
  },
  {
    effect: 'which code a shell runs first',
    names: [
      ...['BASH_ENV', 'ENV', 'BASH_FUNC_*', 'BASHOPTS', 'SHELLOPTS', 'PROMPT_COMMAND', 'PS4', 'ZDOTDIR'],
      ...['PSMODULEPATH', 'FPATH', 'CDPATH'],
    ],
  },
  {
    effect: 'which code Node.js loads, and whom it trusts',
    names: ['NODE_*', 'VSCODE_INSPECTOR_OPTIONS', 'ELECTRON_*', 'BUN_*', 'DENO_*', 'TS_NODE_*', 'TSX_*'],
    except: ['NODE_ENV', 'NODE_NO_WARNINGS'],
  },
  {
    effect: 'where packages come from',
    names: [
      ...['NPM_CONFIG_*', 'YARN_*', 'PNPM_*', 'COREPACK_*', 'UV_*', 'UVX_*', 'PIP_*', 'PIPX_*', 'POETRY_*'],
      ...['CONDA_*', 'GEM_*', 'BUNDLE_*', 'CARGO_*', 'RUSTUP_*', 'GOPROXY', 'GOFLAGS', 'GOPATH', 'GOROOT'],
      ...['GOSUMDB', 'GONOSUMDB', 'GOINSECURE', 'NUGET_*', 'MAVEN_*', 'GRADLE_*'],
    ],
  },
  {
    effect: 'which code Python loads',
    names: ['PYTHON*', 'VIRTUAL_ENV'],
    except: [
      'PYTHONUNBUFFERED',
      'PYTHONIOENCODING',
      'PYTHONUTF8',
      'PYTHONDONTWRITEBYTECODE',
      'PYTHONHASHSEED',
    ],
  },
  {
    effect: 'which code an interpreter or a runtime loads',
    names: [
      ...['JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'JAVA_OPTS', 'JAVA_HOME', 'CLASSPATH'],
      ...['PERL5*', 'PERLLIB', 'RUBYOPT', 'RUBYLIB', 'PHPRC', 'PHP_INI_SCAN_DIR', 'LUA_*', 'TCLLIBPATH'],
      ...['SBT_OPTS', 'CATALINA_OPTS', 'ERL_*', 'ELIXIR_ERL_OPTIONS', 'ANSIBLE_*'],
      ...['DOTNET_*', 'CORECLR_*', 'COMPLUS_*', 'MONO_*', 'R_PROFILE*', 'R_ENVIRON*', 'JULIA_*'],
    ],
  },
  {
    effect: 'which commands git runs, and whom it trusts',
    names: [
      ...['GIT_SSH*', 'GIT_ASKPASS', 'GIT_EXEC_PATH', 'GIT_CONFIG*', 'GIT_EXTERNAL_DIFF', 'GIT_PAGER'],
      ...[
        'GIT_EDITOR',
        'GIT_SEQUENCE_EDITOR',
        'GIT_PROXY_COMMAND',
        'GIT_TEMPLATE_DIR',
        'GIT_SSL_*',
        'GIT_DIR',
      ],
      ...['GIT_ALLOW_PROTOCOL', 'GIT_WORK_TREE', 'GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES'],
    ],
  },
  {
    effect: 'which container engine receives the other variables',
    names: [
      'DOCKER_*',
      'CONTAINER_*',
      'CONTAINERS_*',
      'PODMAN_*',
      'BUILDKIT_*',
      'BUILDX_*',
      'COMPOSE_*',
      'KUBECONFIG',
    ],
  },
  {
    effect: 'where programs find their settings and keep their files',
    names: [
      'HOME',
      'HOMEDRIVE',
      'HOMEPATH',
      'USERPROFILE',
      'APPDATA',
      'LOCALAPPDATA',
      'PROGRAMDATA',
      'SYSTEMROOT',
      'WINDIR',
      'XDG_*',
      'TMPDIR',
      'TEMP',
      'TMP',
    ],
  },
  {
    effect: 'which credentials programs use, and which service receives them',
    names: [
      ...['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_ENDPOINT_URL*', 'AWS_CA_BUNDLE'],
      ...[
        'GOOGLE_APPLICATION_CREDENTIALS',
        'CLOUDSDK_*',
        'AZURE_CONFIG_DIR',
        'PGSERVICEFILE',
        'PGSYSCONFDIR',
      ],
      ...['TNS_ADMIN', 'GNUPGHOME', 'NETRC'],
    ],
  },
  {
    effect: 'over which server and with which certificates programs reach the network',
    names: [
      ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'FTP_PROXY', 'NO_PROXY', 'SSL_CERT_*', 'SSLKEYLOGFILE'],
      ...['REQUESTS_CA_BUNDLE', 'CURL_*', 'WGETRC', 'HOSTALIASES', 'RES_OPTIONS', 'LOCALDOMAIN', 'KRB5*'],
    ],
  },
];

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns the variable's effect; undefined for harmless variables. */
export function steeringEffect(name: string): string | undefined {
  if (!plainName.test(name)) return 'several variables: it is not a valid variable name';
  const upper = name.toUpperCase();
  const matchesName = (each: string) =>
    each.endsWith('*') ? upper.startsWith(each.slice(0, -1)) : upper === each;
  return groups.find(({ names, except = [] }) => names.some(matchesName) && !except.includes(upper))?.effect;
}
