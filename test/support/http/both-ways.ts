import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../../services/platform/http/app.ts'
import type { Ports } from '../../../services/platform/http/binding.ts'
import { listen } from '../../../services/platform/http/listen.ts'
import { openExchange } from './exchange.ts'

/** Delivery of a request: its bytes in parts, with a pause in ms before each part except the first. */
export type Delivery = { readonly parts: readonly string[]; readonly pauseMs: number; readonly isAborted: boolean }

/** Serve two apps: one with the direct way of submissions, and one with the long way only. */
export const serveBothWays = async (makeApp: () => App, ports: Pick<Ports, 'now' | 'newRequestId' | 'log'>) => {
  const stack = new AsyncDisposableStack()
  let directRequests = 0
  const app = makeApp()
  const counted = {
    fetch: app.fetch,
    serveDirectly: (...exchange: Parameters<App['serveDirectly']>): boolean => {
      const isServed = app.serveDirectly(...exchange)
      if (isServed) directRequests += 1
      return isServed
    },
  }
  const address = { host: '127.0.0.1', port: 0 }
  const direct = stack.use(await listen(counted, address, ports))
  const long = stack.use(await listen({ fetch: makeApp().fetch }, address, ports))
  return {
    direct,
    long,
    directRequests: () => directRequests,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Send a request in parts, whose characters are bytes. Return all answers, until the connection ends. */
export const deliver = async (port: number, { parts, pauseMs, isAborted }: Delivery): Promise<string> => {
  const { socket, ended } = openExchange(port, '')
  for (const [index, part] of parts.entries()) {
    if (index > 0) await sleep(pauseMs)
    if (socket.writable) socket.write(part, 'latin1')
  }
  if (isAborted) {
    await sleep(pauseMs)
    socket.destroy()
  }
  return ended
}

/** Replace ids, instants and waits, which differ between two answers to the same request. */
export const withoutIdentity = (answer: string): string =>
  answer
    .replaceAll(/req_[0-9a-f-]{8,36}/g, 'req')
    .replaceAll(/bat_[0-9a-f]{24}/g, 'bat')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+Z/g, 'instant')
    .replaceAll(/^(Date|RateLimit-Reset|Retry-After): .*$/gm, '$1')
