import { connectAsync, type MqttClient } from 'mqtt'
import { BodyRefused, put, type Service } from './service.ts'

/** Message of a meter: energy of an interval. */
type Message = { readonly start: string; readonly end: string; readonly kwh: number | string }

const topicPattern = /^meters\/([^/]+)\/interval$/

/** Return the record of a message; the topic names the location by its own reference. Throws `BodyRefused`. */
const recordOf = (topic: string, payload: string) => {
  const [, reference] = topicPattern.exec(topic) ?? []
  try {
    const { start, end, kwh }: Message = JSON.parse(payload)
    return { location_id: `reference:${reference}`, units: 'KWH', value: kwh, start_time: start, end_time: end }
  } catch (error) {
    throw new BodyRefused(String(error))
  }
}

const forward = async (service: Service, topic: string, payload: string): Promise<void> =>
  put(service, '/meters/interval', [recordOf(topic, payload)])

/**
 * Forward `meters/{reference}/interval` from a broker to a service.
 * The broker gets its acknowledgement (QoS 1) after the service has stored the record. A message that the service can
 * never accept goes to `refused/meters/{reference}/interval`. After any other failure the bridge disconnects without an
 * acknowledgement. The library connects again after a second, and the broker sends the message again.
 */
export const openMqttBridge = async (brokerUrl: string, service: Service): Promise<MqttClient> => {
  const client = await connectAsync(brokerUrl, { clientId: 'wattledger-bridge', clean: false })
  client.handleMessage = ({ topic, payload }, acknowledge) => {
    forward(service, topic, payload.toString()).then(
      () => acknowledge(),
      error => {
        console.error(`not forwarded, ${error.message}`)
        if (!(error instanceof BodyRefused)) return client.stream.destroy()
        // The broker receives this message before the acknowledgement, on the same connection.
        client.publish(`refused/${topic}`, payload, { qos: 1 })
        return acknowledge()
      },
    )
  }
  await client.subscribeAsync('meters/+/interval', { qos: 1 })
  return client
}
