import type { Binding } from '../platform/http/binding.ts'
import type { QueryServiceDependencies } from './dependencies.ts'
import { eventOperations } from './events/events.ts'
import { webhookDeliveryOperations } from './events/webhook-deliveries.ts'
import { webhookOperations } from './events/webhooks.ts'
import { marketOperations } from './markets/markets.ts'
import { accountOperations } from './registry/account.ts'
import { customerOperations } from './registry/customers.ts'
import { deviceOperations } from './registry/devices.ts'
import { locationOperations } from './registry/locations.ts'
import { loginOperations } from './registry/login.ts'
import { providerOperations } from './registry/providers.ts'
import { tariffOperations } from './registry/tariffs.ts'

/** Bind the operations of the query service to what they are made from. */
export const queryServiceOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  ...loginOperations(dependencies),
  ...accountOperations(dependencies),
  ...customerOperations(dependencies),
  ...locationOperations(dependencies),
  ...deviceOperations(dependencies),
  ...tariffOperations(dependencies),
  ...providerOperations(dependencies),
  ...marketOperations(dependencies),
  ...eventOperations(dependencies),
  ...webhookOperations(dependencies),
  ...webhookDeliveryOperations(dependencies),
]
