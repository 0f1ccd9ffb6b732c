import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { listen } from '../../../../services/platform/http/listen.ts'
import { openExchange, startTestApp } from '../../../support/http/exchange.ts'
import { testApp } from '../../../support/http/http-app.ts'
import { until } from '../../../support/system/until.ts'

describe('the stop of the server', () => {
  it('finishes running requests, accepts no new one, and does not wait for idle connections', async () => {
    const listener = await startTestApp()
    const base = `http://127.0.0.1:${listener.port}`
    await (await fetch(`${base}/health/live`)).text()
    const body = JSON.stringify({ name: 'wait' })
    const running = fetch(`${base}/things`, {
      method: 'POST',
      headers: { authorization: 'Bearer all', 'content-type': 'application/json' },
      body,
    })
    await until(listener.waiting, ({ length }) => length === 1)
    const began = performance.now()
    const closing = listener.close(25_000)
    expect((await running).status).toBe(201)
    await closing
    // An idle connection that is waited for ends with the time limit.
    expect(performance.now() - began).toBeLessThan(20_000)
    await expect(fetch(`${base}/health/live`)).rejects.toThrow()
  })

  it('answers requests that were sent before the stop was visible, with Connection: close', async () => {
    const listener = await startTestApp()
    const request = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'
    const idle = openExchange(listener.port, request)
    await until(idle.received, text => text.includes('200 OK'))
    const fresh = openExchange(listener.port, request)
    // By the next tick the connection is open, and this thread has not accepted it yet.
    await new Promise(resolve => process.nextTick(resolve))
    idle.socket.write(request)
    await listener.close(25_000)
    expect((await idle.ended).match(/HTTP\/1\.1 200|connection: close/gi)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 200',
      'Connection: close',
    ])
    expect((await fresh.ended).match(/HTTP\/1\.1 200|connection: close/gi)).toEqual([
      'HTTP/1.1 200',
      'Connection: close',
    ])
  })

  it('answers requests that arrived while the process was busy, within the grace time', async () => {
    const listener = await startTestApp()
    const request = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'
    const idle = openExchange(listener.port, request)
    await until(idle.received, text => text.includes('200 OK'))
    const closing = listener.close(25_000)
    const fresh = Array.from({ length: 20 }, () => openExchange(listener.port, request))
    await new Promise(resolve => process.nextTick(resolve))
    idle.socket.write(request)
    // Longer than the grace: its end is due before anything that came is looked at.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    const [answers] = await Promise.all([Promise.all([idle, ...fresh].map(({ ended }) => ended)), closing])
    expect(answers.map(answer => answer.match(/HTTP\/1\.1 200/g)?.length)).toEqual([2, ...fresh.map(() => 1)])
  })

  it('waits for a slow client of an answer that is already written', async () => {
    const { app, ports } = testApp()
    const bytes = 32 * 2 ** 20
    app.get('/large', () => new Response(Buffer.alloc(bytes, 'x')))
    const listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    const { socket, ended } = openExchange(listener.port, 'GET /large HTTP/1.1\r\nHost: a\r\n\r\n')
    await new Promise(resolve => socket.once('data', resolve))
    socket.pause()
    await sleep(100)
    const closing = listener.close(25_000)
    await sleep(500)
    socket.resume()
    expect((await ended).split('\r\n\r\n', 2)[1]).toHaveLength(bytes)
    await closing
  })

  it('cuts what has not ended within the time limit', async () => {
    const listener = await startTestApp()
    const running = fetch(`http://127.0.0.1:${listener.port}/trouble/slow`, {
      headers: { authorization: 'Bearer all' },
    })
    const cut = expect(running).rejects.toThrow()
    await until(listener.waiting, ({ length }) => length === 1)
    const began = performance.now()
    await listener.close(100)
    await cut
    expect(performance.now() - began).toBeLessThan(20_000)
  })

  it('fails to start on a port in use', async () => {
    const listener = await startTestApp()
    const { app, ports } = testApp()
    await expect(listen(app, { host: '127.0.0.1', port: listener.port }, ports)).rejects.toMatchObject({
      code: 'EADDRINUSE',
    })
    await listener.close(100)
  })
})
