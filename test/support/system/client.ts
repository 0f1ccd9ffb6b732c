import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { until } from './until.ts'

export type ApiVersion = 'current' | 'earlier'

const versions = { current: '2025-09-14', earlier: '2024-08-24' } as const

/** Answer of the system. `text` has the numbers exactly as written, and `json` has them as floats; null for a table. */
export type Reply = { readonly status: number; readonly headers: Headers; readonly text: string; readonly json: never }

/** Client of a running system in one mode. */
export type Client = {
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Reply>
  /** Send a request and return the JSON of its answer. Throws if the status is not a success. */
  readonly ask: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<never>
  /** Submit records, or their JSON, and wait until each is stored. Returns the receipt. */
  readonly submit: (records: readonly unknown[] | string, headers?: Readonly<Record<string, string>>) => Promise<never>
}

const timeoutMs = 60_000

/** Log in, and return a client for a mode and an API version. */
export const login = async (
  sandbox: Sandbox,
  mode: 'live' | 'test' = 'test',
  apiVersion: ApiVersion = 'current',
): Promise<Client> => {
  const key = mode === 'live' ? sandbox.live_key : sandbox.test_key
  const basic = Buffer.from(`${sandbox.account_id}:${key}`).toString('base64')
  const answer = await fetch(`${sandbox.base_url}/login`, { headers: { Authorization: `Basic ${basic}` } })
  const { bearer_token: token } = (await answer.json()) as { bearer_token: string }
  const send: Client['send'] = async (method, path, body, headers = {}) => {
    const response = await fetch(sandbox.base_url + path, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Api-Version': versions[apiVersion],
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isTable = /^(text\/csv|application\/x-ndjson)/.test(response.headers.get('content-type') ?? '')
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: (text === '' || isTable ? null : JSON.parse(text)) as never,
    }
  }
  const ask: Client['ask'] = async (...words) => {
    for (const deadline = performance.now() + timeoutMs; ; ) {
      const { status, text, json } = await send(...words)
      // On a busy machine a batch can take longer than one request waits for it.
      if (status === 503 && text.includes('"code":"batch_pending"') && performance.now() < deadline) continue
      if (status >= 300) throw new Error(`${words[0]} ${words[1]} gave ${status}: ${text}`)
      return json
    }
  }
  const submit: Client['submit'] = async (records, headers) => {
    const { id, records_accepted: accepted } = (await ask('PUT', '/meters/interval', records, headers)) as {
      id: string
      records_accepted: number
    }
    const receipt = (): Promise<{ readonly records_processed: number }> => ask('GET', `/meters/batch?batch_id=${id}`)
    return (await until(receipt, ({ records_processed: processed }) => processed >= accepted)) as never
  }
  return { send, ask, submit }
}
