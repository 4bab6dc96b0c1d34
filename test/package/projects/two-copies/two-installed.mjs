import * as first from 'leasehold';
import * as second from 'leasehold-again';

import { contend } from './contend.mjs';

await contend(first, second, 'two-installed');
