import { deviceList } from '../../contract/registry/device.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'

/** Names or own references of devices by their ids. */
export type DeviceNames = ReadonlyMap<string, string>

/** Read the names of the newest 100 devices. Empty if the API refuses. */
export const newestDevices = async ({ call }: Pick<ConsoleRequest, 'call'>): Promise<DeviceNames> => {
  const list = await call(deviceList, { limit: 100 })
  return new Map(list.ok ? list.value.data.map(one => [one.id, one.display_name ?? one.reference_id]) : [])
}

/** Link to a device by its name, or by its id if the name is unknown. */
export const deviceLink = (names: DeviceNames, id: string): Html =>
  html`<a href="/console/devices/${id}">${names.get(id) ?? html`<code>${id}</code>`}</a>`
