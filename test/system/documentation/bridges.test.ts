import { type AddressInfo, connect, createServer } from 'node:net'
import { Aedes } from 'aedes'
import { connectAsync } from 'mqtt'
import { describe, expect, it } from 'vitest'
import { openMqttBridge } from '../../support/bridges/mqtt-bridge.ts'
import { openOcppBridge } from '../../support/bridges/ocpp-bridge.ts'
import type { Client } from '../../support/system/client.ts'
import { makeHome } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const closingOf = (socket: WebSocket): Promise<CloseEvent> =>
  new Promise(resolve => socket.addEventListener('close', resolve, { once: true }))

describe('bridges', () => {
  const system = useSharedSystem()

  const serviceOf = () => ({ url: system.sandbox().base_url, key: system.sandbox().test_key })

  const costOf = async (client: Client, home: string): Promise<number> => {
    const span = { start_time: '2026-01-15T00:00:00Z', end_time: '2026-01-16T00:00:00Z' }
    const answer: { data: [{ tariff: { cost: { value: number } } }] } = await client.ask(
      'POST',
      `/costs/interval/${home}`,
      span,
    )
    return answer.data[0].tariff.cost.value
  }

  /** Start a broker, run a test with its address, and stop the broker. */
  const withBroker = async (run: (url: string) => Promise<void>): Promise<void> => {
    const broker = await Aedes.createBroker()
    const server = createServer(broker.handle)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    try {
      await run(`mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`)
    } finally {
      await new Promise<void>(resolve => broker.close(() => server.close(() => resolve())))
    }
  }

  const message = (hour: number, kwh: number): string =>
    JSON.stringify({ start: `2026-01-15T${hour}:00:00Z`, end: `2026-01-15T${hour + 1}:00:00Z`, kwh })

  const makeDepot = async (client: Client, reference: string): Promise<string> => {
    const home = await makeHome(client, { import: 0.3 })
    await client.ask('PATCH', `/locations/${home}`, { reference_id: reference })
    return home
  }

  it('MQTT: each message is a record, and a message that is sent twice counts once', { timeout: 60_000 }, async () => {
    const client = await system.login()
    const home = await makeDepot(client, 'depot-7')
    await withBroker(async brokerUrl => {
      const bridge = await openMqttBridge(brokerUrl, serviceOf())
      const meter = await connectAsync(brokerUrl)
      for (const text of [message(10, 2), message(11, 4), message(10, 2)])
        await meter.publishAsync('meters/depot-7/interval', text, { qos: 1 })
      await until(
        () => costOf(client, home),
        cost => cost === 1.8,
      )
      await Promise.all([meter.endAsync(), bridge.endAsync(true)])
    })
  })

  it('MQTT: messages with an error are moved away, and other messages wait for the service', {
    timeout: 60_000,
  }, async () => {
    const client = await system.login()
    const home = await makeDepot(client, 'depot-8')
    await withBroker(async brokerUrl => {
      // Nothing listens at the address of the service yet. Later, connections go on to the real service.
      const target = new URL(serviceOf().url)
      const way = createServer(socket => socket.pipe(connect(Number(target.port), target.hostname)).pipe(socket))
      await new Promise<void>(resolve => way.listen(0, '127.0.0.1', resolve))
      const { port } = way.address() as AddressInfo
      await new Promise(resolve => way.close(resolve))
      const bridge = await openMqttBridge(brokerUrl, { ...serviceOf(), url: `http://127.0.0.1:${port}` })
      const meter = await connectAsync(brokerUrl)
      const refused: string[] = []
      meter.on('message', (topic, payload) => refused.push(`${topic} ${payload}`))
      await meter.subscribeAsync('refused/#', { qos: 1 })
      for (const text of ['no JSON', message(10, -2), message(11, 4)])
        await meter.publishAsync('meters/depot-8/interval', text, { qos: 1 })
      await until(
        () => refused.length,
        count => count === 1,
      )
      await new Promise<void>(resolve => way.listen(port, '127.0.0.1', resolve))
      await until(
        () => costOf(client, home),
        cost => cost === 1.2,
      )
      const topic = 'refused/meters/depot-8/interval'
      // Quality of service 1: a message can arrive again after a connection is lost.
      expect([...new Set(refused)]).toEqual([`${topic} no JSON`, `${topic} ${message(10, -2)}`])
      await Promise.all([meter.endAsync(), bridge.endAsync(true)])
      way.close()
    })
  })

  it('OCPP: the energy register of a charge point becomes the cost of its session', { timeout: 30_000 }, async () => {
    const client = await system.login()
    const home = await makeHome(client, { import: 0.3 })
    for (const connector of [1, 2]) await client.ask('POST', '/devices', { reference_id: `charger-7-${connector}` })
    const deadLettered: string[] = []
    const bridge = await openOcppBridge(
      serviceOf(),
      () => home,
      (chargePoint, _, reason) => deadLettered.push(`${chargePoint}: ${reason}`),
    )
    const socket = new WebSocket(`${bridge.url}/ocpp/charger-7`, 'ocpp1.6')
    await new Promise(resolve => socket.addEventListener('open', resolve, { once: true }))
    const call = async (id: string, action: string, payload: object): Promise<readonly unknown[]> => {
      const answer = new Promise<string>(resolve =>
        socket.addEventListener('message', ({ data }) => resolve(String(data)), { once: true }),
      )
      socket.send(JSON.stringify([2, id, action, payload]))
      return JSON.parse(await answer)
    }
    const parts = [
      { value: '7', phase: 'L1' },
      { value: '8', location: 'Inlet' },
      { value: 'AQID', format: 'SignedData' },
      { value: '16', measurand: 'Current.Import', unit: 'A' },
    ]
    const values = (timestamp: string, value: string, connectorId = 1) => ({
      connectorId,
      transactionId: 4711,
      meterValue: [{ timestamp, sampledValue: [...parts, { value }, ...parts] }],
    })
    expect(await call('1', 'MeterValues', values('2026-01-15T18:00:00Z', '120500'))).toEqual([3, '1', {}])
    // The register of another connector is lower.
    expect(await call('4', 'MeterValues', values('2026-01-15T18:30:00Z', '90', 2))).toEqual([3, '4', {}])
    expect(await call('2', 'MeterValues', values('2026-01-15T19:00:00Z', '131500.5'))).toEqual([3, '2', {}])
    await until(
      () => costOf(client, home),
      cost => cost === 3.30015,
    )
    await until(
      () => client.send('POST', '/costs/session/4711'),
      ({ status, text }) => status === 200 && text.includes('"value":3.30015'),
    )
    const broken = new WebSocket(`${bridge.url}/ocpp/charger-7`, 'ocpp1.6')
    broken.addEventListener('open', () => broken.send('no JSON'), { once: true })
    expect((await closingOf(broken)).code).toBe(1007)
    expect(await call('3', 'MeterValues', values('2026-01-15T19:00:00Z', '-1'))).toEqual([3, '3', {}])
    expect(deadLettered).toEqual([expect.stringMatching(/^charger-7: .*value/)])
    const damaged = new WebSocket(`${bridge.url}/ocpp/%E0`, 'ocpp1.6')
    expect((await closingOf(damaged)).code).toBe(1008)
    expect(await call('5', 'Heartbeat', {})).toEqual([3, '5', {}])
    socket.close()
    bridge.close()
  })
})
