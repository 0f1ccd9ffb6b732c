import { connectAsync, type MqttClient } from 'mqtt'
import { put, type Service } from './service.ts'

/** Message of a meter: energy of an interval. */
type Message = { readonly start: string; readonly end: string; readonly kwh: number | string }

const topicPattern = /^meters\/([^/]+)\/interval$/

/** Return the record of a message; the topic names the location by its own reference. */
const recordOf = (topic: string, { start, end, kwh }: Message) => ({
  location_id: `reference:${topicPattern.exec(topic)?.[1]}`,
  units: 'KWH',
  value: kwh,
  start_time: start,
  end_time: end,
})

/**
 * Forward `meters/{reference}/interval` from a broker to a service.
 * The broker gets its acknowledgement (QoS 1) after the service has stored the record. After a failure the bridge
 * disconnects without it, and the broker sends the message again.
 */
export const openMqttBridge = async (brokerUrl: string, service: Service): Promise<MqttClient> => {
  const client = await connectAsync(brokerUrl, { clientId: 'wattledger-bridge', clean: false })
  client.handleMessage = (packet, acknowledge) => {
    const message: Message = JSON.parse(packet.payload.toString())
    put(service, '/meters/interval', [recordOf(packet.topic, message)]).then(
      () => acknowledge(),
      error => {
        console.error(`not forwarded, ${error.message}`)
        client.reconnect()
      },
    )
  }
  await client.subscribeAsync('meters/+/interval', { qos: 1 })
  return client
}
