import { useData } from 'vitepress';
import { defineComponent, h, onMounted, ref, useId, watch } from 'vue';

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

/** Below this width in px a wide diagram scrolls rather than shrink: its text would be too small. */
const NARROWEST = 560;

interface Scheme {
  readonly background: string;
  readonly surface: string;
  readonly group: string;
  readonly note: string;
  readonly line: string;
  readonly text: string;
  readonly plots: string;
}

const LIGHT: Scheme = {
  background: '#ffffff',
  surface: '#e3f1f2',
  group: '#f6f8f9',
  note: '#fdf3d8',
  line: '#4a6468',
  text: '#1b2b2e',
  plots: '#0f6b78,#c2571a,#6b4fa0,#6b7b7d',
};

const DARK: Scheme = {
  background: '#1b1b1f',
  surface: '#1f3c42',
  group: '#222529',
  note: '#453c1f',
  line: '#93adb1',
  text: '#e3eaeb',
  plots: '#5cc3d0,#f0995c,#b59ee6,#9aabad',
};

const variables = ({ background, surface, group, note, line, text, plots }: Scheme): object => ({
  ...{ background, primaryColor: surface, primaryBorderColor: line, primaryTextColor: text, lineColor: line },
  ...{ textColor: text, titleColor: text, nodeTextColor: text, labelColor: text, transitionLabelColor: text },
  ...{ mainBkg: surface, clusterBkg: group, clusterBorder: line, edgeLabelBackground: background },
  ...{ labelBackgroundColor: background, specialStateColor: line, innerEndBackground: background },
  ...{ noteBkgColor: note, noteTextColor: text, noteBorderColor: line },
  ...{ actorBkg: surface, actorBorder: line, actorTextColor: text, actorLineColor: line },
  ...{ signalColor: text, signalTextColor: text, labelBoxBkgColor: surface, labelBoxBorderColor: line },
  ...{ labelTextColor: text, loopTextColor: text },
  xyChart: {
    ...{ backgroundColor: 'transparent', titleColor: text, plotColorPalette: plots },
    ...{ xAxisLabelColor: text, xAxisTitleColor: text, xAxisTickColor: line, xAxisLineColor: line },
    ...{ yAxisLabelColor: text, yAxisTitleColor: text, yAxisTickColor: line, yAxisLineColor: line },
  },
});

/** Mermaid is part of the site, and comes with the first diagram. */
async function drawn(id: string, source: string, isDark: boolean): Promise<string> {
  const { default: mermaid } = await import('mermaid');
  mermaid.initialize({
    startOnLoad: false,
    suppressErrorRendering: true,
    theme: 'base',
    fontFamily: FONT,
    darkMode: isDark,
    themeVariables: variables(isDark ? DARK : LIGHT),
  });
  const { svg } = await mermaid.render(id, source);
  return svg.replace(
    /max-width: ([\d.]+)px/,
    (style, width: string) => `min-width: ${Math.min(Number(width), NARROWEST)}px; ${style}`,
  );
}

/**
 * Draws a Mermaid diagram in the colours of the page. Its source is shown until then, without scripts, and if it cannot
 * be drawn.
 */
export const Diagram = defineComponent({
  props: {
    /** The source, encoded as a part of a URI. */
    source: { type: String, required: true },
    label: { type: String, required: true },
  },
  setup(props) {
    const { isDark } = useData();
    const id = `diagram-${useId()}`.replaceAll(':', '');
    const source = decodeURIComponent(props.source);
    const svg = ref('');
    const draw = async (): Promise<void> => {
      const dark = isDark.value;
      const drawing = await drawn(id, source, dark).catch((error: unknown) => {
        console.error('a diagram cannot be drawn; its source is shown', error);
        return '';
      });
      // The scheme may have changed meanwhile. Then another drawing is on its way.
      if (dark === isDark.value) svg.value = drawing;
    };
    onMounted(draw);
    watch(isDark, draw);
    return () =>
      svg.value === ''
        ? h('pre', { class: 'diagram' }, source)
        : h('div', {
            class: 'diagram',
            role: 'img',
            tabindex: 0,
            'aria-label': props.label,
            innerHTML: svg.value,
          });
  },
});
