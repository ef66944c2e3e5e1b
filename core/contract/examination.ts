import type { ListedSubject } from './capabilities/policy.js'
import type { FetchedDocuments } from './capabilities/source.js'
import type { Fetch } from './fetch.js'
import type { Gateway } from './gateway.js'

/**
 * The interface that `examine` of a plugin reports to and checks with. No plugin is booted: `examine` has the
 * options and the network. Each finding is one line of `sallyport doctor`, which may end in a log, so it must hold
 * no secret.
 */
export interface Examination {
  /** The entry's name in the list. */
  readonly id: string
  /** The path of the entry's scope, empty at the root. */
  readonly scope: string
  /** A path from the options, relative to the folder of the configuration. */
  readonly path: Gateway['path']
  /** The facts of each entry of the same scope, this one included, in list order. */
  readonly around: readonly EntryFacts[]
  readonly probes: Probes

  /** `check`, such as `DNS`, `keys`, `target`, passed. */
  readonly ok: (check: string, detail: string) => void
  /** The gateway would work, but not at its best. `code` is for programs; `advice` says what to do. */
  readonly warning: (check: string, code: string, detail: string, advice: string) => void
  /** The gateway would not work. A second finding with the same check and code is dropped. */
  readonly wrong: (check: string, code: string, detail: string, advice: string) => void
}

/** Facts about an entry that follow from its options alone, for the examination of other entries. */
export interface EntryFacts {
  /** The token that each request to the target has; `undefined` when it cannot be read. */
  bearer?(): string | undefined
  /** It gets tokens for the target from the authorization server that the target names. */
  readonly signsIn?: { readonly redirects: boolean }
  /** It gets a credential for the target from elsewhere, without the metadata of the target. */
  readonly hasCredential?: boolean
  /** It has an OAuth client, so none has to be registered. */
  readonly hasClient?: boolean
  /** The URL by which callers know what the list protects. */
  readonly publicUrl?: string | undefined
  /** It forwards requests to this MCP server; the first of several alike. */
  readonly target?: ExaminedTarget
  /** For an entry that serves server documents: reads the documents of a source of the list as for serving them. */
  readDocuments?(fetched: FetchedDocuments, signal: AbortSignal): Promise<DocumentCount>
}

/** An MCP server behind the gateway, and the certificates of connections to it. */
export interface ExaminedTarget extends ExaminedTls {
  readonly url: string
}

/** How many documents of a source the gateway would serve. */
export interface DocumentCount {
  readonly accepted: number
  readonly refused: number
  /** The first few refused documents. */
  readonly first: readonly RefusedDocument[]
}

export interface RefusedDocument {
  /** Its name and version, as far as it has them; the name of an unread part. */
  readonly name: string
  readonly reason: string
  /** Undefined for an unread part, and in a payload without a label. */
  readonly position?: DocumentPosition | undefined
}

/** The position of a document in the contents of a source. */
export interface DocumentPosition {
  /** The label of its payload. */
  readonly file: string
  /** Its number among the documents of the payload, from 0. */
  readonly document: number
  /** From the document to the value that is wrong, as far as it exists. */
  readonly path: readonly (string | number)[]
}

/** The OAuth client that will be used. */
export interface ExaminedClient {
  readonly hasClient: boolean
  /** It uses a browser, with a redirect URI. */
  readonly redirects: boolean
}

/** The certificates of a connection, as files. */
export interface ExaminedTls {
  /** PEM certificates to trust instead of Node's. */
  readonly caFile?: string | undefined
  /** The client certificate to send to the server, and its key. */
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

export interface ReachOptions extends ExaminedTls {
  /** The option that names `caFile`, for advice; by default `caCertPath`. */
  readonly caOption?: string
  /** The option that allows private addresses; missing when any address is allowed. */
  readonly privateOption?: string | undefined
  /** No proxy of the environment is used. */
  readonly direct?: boolean
  /** Nothing has to listen there yet: a refused connection is only a warning, with this advice. */
  readonly closedAdvice?: string
}

export interface GreetOptions extends ExaminedTls {
  /** The `Host` to send, instead of that of the URL. */
  readonly host?: string
  readonly bearer?: string | undefined
  /** No proxy of the environment is used. */
  readonly direct?: boolean
}

/** A response without its body. */
export interface InitializeResponse {
  readonly status: number
  readonly challenge: string | undefined
}

/** The lists of an MCP server: tools, prompts, resources and templates of resources. */
export interface TargetLists {
  readonly listed: readonly ListedSubject[]
  /** False when it lists more than was read. */
  readonly complete: boolean
}

/** The response to a request for a JSON document. */
export interface DocumentResponse {
  /** Missing when there was no response. */
  readonly status: number | undefined
  readonly document: Readonly<Record<string, unknown>> | undefined
  readonly failure: string
  /** The server's `Date`, in milliseconds. */
  readonly date: number | undefined
}

/** Checks that several plugins use. Each but `greet`, `lists`, `ask` and `askIssuer` reports its findings. */
export interface Probes {
  /**
   * Checks name, address, port and certificate of a URL, through the proxy of the environment. True when requests
   * make sense.
   */
  reach(url: string, options?: ReachOptions): Promise<boolean>
  /** Sends an MCP server the `initialize` request of a client. It throws when there is no response. */
  greet(url: string, options?: GreetOptions): Promise<InitializeResponse>
  /**
   * Gets the lists of an MCP server as a client would, page by page. `undefined` when it needs a credential that was
   * not given. It throws when there is no response, or none that a client could use.
   */
  lists(url: string, options?: GreetOptions): Promise<TargetLists | undefined>
  ask(fetch: Fetch, url: string, init?: RequestInit): Promise<DocumentResponse>
  /** Gets the metadata of an issuer: by OpenID Connect Discovery, else by RFC 8414. */
  askIssuer(fetch: Fetch, issuer: string): Promise<DocumentResponse>
  /** Follows a challenge to the metadata of the resource (RFC 9728), and these to the authorization server. */
  resource(url: string, challenge: string | undefined, client?: ExaminedClient): Promise<void>
  /** An authorization server that the operator named, and whether the client can sign in there. */
  authorizationServer(issuer: string, client: ExaminedClient): Promise<void>
}
