import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { BodyRefused, put, type Service } from './service.ts'

/** Value of a meter. Members that are absent have the defaults of OCPP 1.6. */
type Sample = {
  readonly value: string
  readonly measurand?: string
  readonly unit?: string
  readonly phase?: string
  readonly location?: string
  readonly format?: string
}

/** `MeterValues` of OCPP 1.6, as far as the bridge reads it. */
type MeterValues = {
  readonly connectorId: number
  readonly transactionId?: number
  readonly meterValue: readonly {
    readonly timestamp: string
    readonly sampledValue: readonly Sample[]
  }[]
}

const register = 'Energy.Active.Import.Register'

/** Return whether a value is the energy register of a connector: not of one phase, of the cable, or signed. */
const isRegister = ({ measurand = register, phase, location = 'Outlet', format = 'Raw' }: Sample): boolean =>
  measurand === register && phase === undefined && location === 'Outlet' && format === 'Raw'

/**
 * Return the readings of the energy register of a connector as submissions, one for each unit. Other values are left out.
 */
const submissionsOf = (chargePoint: string, { connectorId, transactionId, meterValue }: MeterValues) => {
  const readings = meterValue.flatMap(({ timestamp, sampledValue }) =>
    sampledValue
      .filter(isRegister)
      .map(({ value, unit = 'Wh' }) => ({ unit, time: Math.floor(Date.parse(timestamp) / 1000), value })),
  )
  return [...Map.groupBy(readings, ({ unit }) => unit)].map(([unit, list]) => ({
    device_id: `reference:${chargePoint}-${connectorId}`,
    units: unit.toUpperCase(),
    // A text of up to 15 digits is the same text again after Number and JSON.
    data: list.map(({ time, value }) => ({ time, value: Number(value) })),
    ...(transactionId === undefined ? {} : { session_reference_id: String(transactionId) }),
  }))
}

/** Parts of a message of OCPP: its type, id, action and payload. */
type Frame = readonly [type: number, id: string, action: string, payload: MeterValues]

/** Read a message; null if it is not a JSON array. */
const frameOf = (text: string): Frame | null => {
  try {
    const frame: unknown = JSON.parse(text)
    return Array.isArray(frame) ? (frame as unknown as Frame) : null
  } catch {
    return null
  }
}

/** Return the name of a charge point from the path of its WebSocket; null if its encoding is damaged. */
const chargePointOf = (path: string): string | null => {
  try {
    return decodeURIComponent(path.split('/').at(-1) ?? '')
  } catch {
    return null
  }
}

/**
 * Open a central system for charge points (OCPP 1.6 JSON) that forwards their energy registers.
 * `locationOf` returns the location of a charge point. A charge point gets its answer after the service has stored the
 * readings; otherwise it gets an error and sends them again. `deadLetter` keeps a message that the service can never
 * accept. The charge point gets an answer then, so that it sends its next messages.
 */
export const openOcppBridge = async (
  service: Service,
  locationOf: (chargePoint: string) => string,
  deadLetter: (chargePoint: string, message: string, reason: string) => void,
) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'ocpp1.6' })
  server.on('connection', (socket, request) => {
    const chargePoint = chargePointOf(request.url ?? '')
    if (chargePoint === null) return socket.close(1008, 'The name of the charge point is damaged.')
    return socket.on('message', async data => {
      const frame = frameOf(data.toString())
      if (frame === null) return socket.close(1007, 'This is not an OCPP message.')
      const [type, id, action, payload] = frame
      if (type !== 2) return
      try {
        if (action === 'MeterValues')
          for (const submission of submissionsOf(chargePoint, payload))
            await put(service, '/meters/cumulative/epoch', { location_id: locationOf(chargePoint), ...submission })
        socket.send(JSON.stringify([3, id, {}]))
      } catch (error) {
        if (error instanceof BodyRefused) {
          deadLetter(chargePoint, data.toString(), error.message)
          return socket.send(JSON.stringify([3, id, {}]))
        }
        socket.send(JSON.stringify([4, id, 'InternalError', String(error), {}]))
      }
    })
  })
  await new Promise(resolve => server.once('listening', resolve))
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      for (const socket of server.clients) socket.terminate()
      server.close()
    },
  }
}
