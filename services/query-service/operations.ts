import type { Binding } from '../platform/http/binding.ts'
import { accountOperations } from './account.ts'
import { customerOperations } from './customers.ts'
import type { QueryServiceDependencies } from './dependencies.ts'
import { deviceOperations } from './devices.ts'
import { eventOperations } from './events.ts'
import { locationOperations } from './locations.ts'
import { loginOperations } from './login.ts'
import { marketOperations } from './markets.ts'
import { tariffOperations } from './tariffs.ts'
import { webhookDeliveryOperations } from './webhook-deliveries.ts'
import { webhookOperations } from './webhooks.ts'

/** Bind the operations of the query service to what they are made from. */
export const queryServiceOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  ...loginOperations(dependencies),
  ...accountOperations(dependencies),
  ...customerOperations(dependencies),
  ...locationOperations(dependencies),
  ...deviceOperations(dependencies),
  ...tariffOperations(dependencies),
  ...marketOperations(dependencies),
  ...eventOperations(dependencies),
  ...webhookOperations(dependencies),
  ...webhookDeliveryOperations(dependencies),
]
