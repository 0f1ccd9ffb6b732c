import { connect } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { type Client, login } from '../../support/system/client.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'
import { until } from '../../support/system/until.ts'
import { openReceiver } from '../../support/webhooks/receiver.ts'

const environment = { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }

const folder = dataFolder()
let system: RunningSystem | undefined

const start = async (): Promise<Client> => {
  system = await startSystem(folder, environment)
  return login(system.sandbox)
}

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

describe('an orderly stop', () => {
  it('does not wait for an endpoint that hangs or a slow body, and loses no delivery', {
    timeout: 90_000,
  }, async () => {
    let isHanging = true
    await using receiver = await openReceiver(() => (isHanging ? 'hang' : { status: 204 }))
    await fillDataFolder(folder)
    const own = await start()
    await own.ask('POST', '/webhooks', { url: receiver.url, event_types: ['device.create'] })
    await own.ask('POST', '/devices', { reference_id: 'hangs' })
    await until(
      async () => receiver.received.length,
      count => count === 1,
    )
    // A slow body uses its connection for as long as the service allows.
    const { hostname, port } = new URL(system?.sandbox.base_url ?? '')
    const dribble = connect({ host: hostname, port: Number(port) }).on('error', () => undefined)
    dribble.write(
      'POST /connect HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n[',
    )
    const startedAt = performance.now()
    expect(await system?.stop()).toBe(0)
    dribble.destroy()
    expect(performance.now() - startedAt).toBeLessThan(15_000)
    isHanging = false
    const again = await start()
    await until(
      async () => receiver.received.length,
      count => count === 2,
      40_000,
    )
    const [first, second] = receiver.received
    expect([second?.headers['webhook-id'], second?.body]).toEqual([first?.headers['webhook-id'], first?.body])
    const endpoints = (await again.ask('GET', '/webhooks')) as {
      readonly data: readonly { readonly failing_since: string | null }[]
    }
    expect(endpoints.data[0]?.failing_since).toBeNull()
  })
})
