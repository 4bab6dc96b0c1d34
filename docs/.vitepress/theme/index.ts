import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';

import { Diagram } from './diagram.js';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => {
    app.component('Diagram', Diagram);
  },
} satisfies Theme;
