import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { startLocalServer } from '../http/local-server.ts'

/**
 * Treatment of the next calls. `refuse`: the server refuses them for lack of memory. `hang`: no answer. `slow`: a late answer.
 * `reset`: the connection ends before the statement. `cut`: it ends within the answer. `lose`: it ends after the statement,
 * without an answer. `gateway`: a load balancer answers 502.
 */
export type EngineFault = 'well' | 'refuse' | 'hang' | 'slow' | 'reset' | 'cut' | 'lose' | 'gateway'

/** Proxy in front of a ClickHouse server. */
export type ClickHouseProxy = AsyncDisposable & {
  readonly url: string
  fault: EngineFault
  /** The last calls, oldest first: path and query. */
  readonly calls: readonly string[]
}

const slowMs = 300
const maxCalls = 1_000
/** Shorter than the keep-alive time of the server. */
const idleMs = 2_000
/** Settings that make the server refuse every statement with error 241. */
const noMemory = { max_memory_usage: '1', max_untracked_memory: '0' }

/** Open a proxy. Answers pass unchanged unless a fault is set. */
export const openClickHouseProxy = async (target: string): Promise<ClickHouseProxy> => {
  const agent = new Agent({ keepAlive: true, timeout: idleMs })
  const calls: string[] = []
  const server = await startLocalServer((request, response) => {
    calls.push(request.url ?? '')
    if (calls.length > maxCalls) calls.shift()
    void forward({ request, response, target, agent }, proxy.fault).catch(() => response.destroy())
  })
  const proxy: ClickHouseProxy = {
    url: server.url,
    fault: 'well',
    calls,
    [Symbol.asyncDispose]: async () => {
      agent.destroy()
      await server[Symbol.asyncDispose]()
    },
  }
  return proxy
}

type Call = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: string
  readonly agent: Agent
}

const forward = async (call: Call, fault: EngineFault): Promise<void> => {
  const { request, response } = call
  if (fault === 'hang') return void request.resume()
  if (fault === 'reset') return void request.socket.resetAndDestroy()
  if (fault === 'gateway') {
    request.resume()
    return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>')
  }
  if (fault === 'slow') await sleep(slowMs)
  const answer = await send(call, fault === 'refuse' ? noMemory : {})
  if (fault === 'lose') {
    await buffer(answer)
    return void response.destroy()
  }
  response.writeHead(answer.statusCode ?? 502, answer.headers)
  if (fault === 'cut') {
    const bytes = await buffer(answer)
    response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy())
  } else await pipeline(answer, response)
}

/** Send a request to the server, with more settings. Resolves with the head of the answer. */
const send = (
  { request, response, target, agent }: Call,
  settings: Readonly<Record<string, string>>,
): Promise<IncomingMessage> => {
  const url = new URL(request.url ?? '/', target)
  for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const sent = httpRequest(url, { method: request.method, headers: request.headers, agent }, resolve).on(
    'error',
    reject,
  )
  // The server ends the statement of a client that has left.
  response.on('close', () => sent.destroy())
  request.pipe(sent)
  return promise
}
